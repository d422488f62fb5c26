package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lendingThread stands for the interpreter's thread: a goroutine that runs lent work and, when that gives way, calls of other
// goroutines.
type lendingThread struct {
	*scriptedEngine
	work   chan func()
	calls  chan func()
	wake   [2]*os.File // readable while a call waits
	id     atomic.Value
	lent   atomic.Int64 // calls that ran on lent work
	others atomic.Int64 // calls that came from elsewhere
}

func newLendingThread(t *testing.T) *lendingThread {
	t.Helper()
	l := &lendingThread{scriptedEngine: newScriptedEngine(), work: make(chan func(), 1), calls: make(chan func())}
	var err error
	if l.wake[0], l.wake[1], err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	ended, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		l.id.Store(goroutine())
		for {
			select {
			case work := <-l.work:
				work()
			case call := <-l.calls:
				call()
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
		_, _ = l.wake[0].Close(), l.wake[1].Close()
	})
	return l
}

// goroutine names the calling goroutine.
func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte(" ["))
	return string(name)
}

func (l *lendingThread) Lend(work func()) bool {
	select {
	case l.work <- work:
		return true
	default:
		return false
	}
}

func (l *lendingThread) Reclaim() (work func()) {
	select {
	case work = <-l.work:
	default:
	}
	return work
}

func (l *lendingThread) Wait(input int) bool {
	events := []unix.PollFd{{Fd: int32(input), Events: unix.POLLIN}, {Fd: int32(l.wake[0].Fd()), Events: unix.POLLIN}}
	limit := -1
	if input < 0 {
		limit = 0
	}
	for {
		if _, err := unix.Poll(events, limit); err != unix.EINTR {
			return (input < 0 || events[0].Revents != 0) && events[1].Revents == 0
		}
	}
}

// Call runs on the thread, like Python; from elsewhere it waits until lent work has given way.
func (l *lendingThread) Call(request []byte, take func([]byte) bool) error {
	if goroutine() == l.id.Load() {
		l.lent.Add(1)
		return l.scriptedEngine.Call(request, take)
	}
	l.others.Add(1)
	done := make(chan error)
	if _, err := l.wake[1].Write([]byte{0}); err != nil {
		return err
	}
	l.calls <- func() {
		_, _ = l.wake[0].Read(make([]byte, 1))
		done <- l.scriptedEngine.Call(request, take)
	}
	return <-done
}

// polledInput is a pipe's end that can be waited for.
type polledInput struct{ *os.File }

func (p polledInput) Descriptor() int { return int(p.Fd()) }

// narrowOutlet takes nothing at once while it is narrow.
type narrowOutlet struct {
	io.Writer
	narrow atomic.Bool
}

func (o *narrowOutlet) Takes(int) bool { return !o.narrow.Load() }

// lentConn is a session whose thread can be lent, over pipes of the operating system.
type lentConn struct {
	t       *testing.T
	thread  *lendingThread
	in      *os.File
	outlet  *narrowOutlet
	answers *bufio.Reader
	served  chan error
}

func connectLent(t *testing.T) *lentConn {
	t.Helper()
	c := &lentConn{t: t, thread: newLendingThread(t), served: make(chan error, 1)}
	s := newServer(t, Options{Namespace: startShell(t, c.thread), Thread: c.thread})
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.outlet, c.answers = in, &narrowOutlet{Writer: serverOut}, bufio.NewReader(out)
	go func() {
		c.served <- s.Serve(context.Background(), polledInput{serverIn}, c.outlet)
		_, _ = serverOut.Close(), serverIn.Close()
	}()
	t.Cleanup(func() {
		_ = in.Close()
		select {
		case err := <-c.served:
			if err != nil {
				t.Errorf("Serve returned %v", err)
			}
		case <-time.After(patience):
			t.Error("Serve did not return")
		}
		_ = out.Close()
	})
	return c
}

func (c *lentConn) write(text string) {
	c.t.Helper()
	if _, err := c.in.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
}

// expect reads answers until each id has got one, in any order.
func (c *lentConn) expect(ids ...string) {
	c.t.Helper()
	missing := map[string]bool{}
	for _, id := range ids {
		missing[id] = true
	}
	for len(missing) > 0 {
		line, err := c.answers.ReadString('\n')
		if err != nil {
			c.t.Fatalf("%v are not answered: %v", missing, err)
		}
		got := decode(c.t, line)
		if got.Error != nil || !missing[string(got.ID)] {
			c.t.Fatalf("the server said %.200s", line)
		}
		delete(missing, string(got.ID))
	}
}

// A client that makes one call after the other has them served on the interpreter's thread, without any other.
func TestLent_oneAfterTheOther(t *testing.T) {
	c := connectLent(t)
	for i := range 50 {
		c.write(execute(strconv.Itoa(i), "cell") + "\n")
		c.expect(strconv.Itoa(i))
	}
	// The namespace's start came from elsewhere, and so does a call now and then where the machine is busy.
	if lent, others := c.thread.lent.Load(), c.thread.others.Load(); lent+others != 51 || lent == 0 {
		t.Errorf("%d calls on lent work, %d from elsewhere", lent, others)
	}
}

// While a call runs on the thread, others take its place as the reader; what they call waits, and runs.
func TestLent_othersRead(t *testing.T) {
	c := connectLent(t)
	c.write(execute("1", "wait") + "\n")
	<-c.thread.started
	c.write(ping("2") + "\n" + execute("3", "later") + "\n")
	c.expect("2")
	close(c.thread.release)
	c.expect("1", "3")
	c.write(execute("4", "cell") + "\n")
	c.expect("4")
}

// What the thread is lent for and does not come to is done beside it, like a call of any other goroutine.
func TestLent_threadIsKept(t *testing.T) {
	c := connectLent(t)
	kept := make(chan struct{})
	c.thread.calls <- func() { <-kept }
	c.write(toolCall("1", "execute", `{"code":"late","wait_seconds":0.05}`) + "\n")
	c.expect("1") // running
	close(kept)
	c.write(execute("2", "later") + "\n")
	c.expect("2")
	if others := c.thread.others.Load(); others < 2 {
		t.Errorf("%d calls came from elsewhere, with the start", others)
	}
}

// An answer that comes while the code goes on does not wait for the code, whatever the client's pipe takes at once.
func TestLent_earlyAnswerToSlowClient(t *testing.T) {
	c := connectLent(t)
	c.outlet.narrow.Store(true)
	c.write(toolCall("1", "execute", `{"code":"wait","wait_seconds":0.05}`) + "\n")
	<-c.thread.started
	c.expect("1")
	close(c.thread.release)
	c.write(execute("2", "cell") + "\n")
	c.expect("2")
}

// Half a message does not hold the thread.
func TestLent_halfALine(t *testing.T) {
	c := connectLent(t)
	c.write(execute("1", "wait") + "\n")
	<-c.thread.started
	c.write(execute("2", "later") + "\n")
	close(c.thread.release)
	c.expect("1", "2")
	for i := 3; i < 30; i++ {
		line := execute(strconv.Itoa(i), "cell") + "\n"
		for _, part := range []string{line[:i], line[i : len(line)-1], line[len(line)-1:]} {
			c.write(part)
			time.Sleep(time.Millisecond) // so that the parts may come one by one
		}
		c.expect(strconv.Itoa(i))
	}
}

// An answer that would have to wait for its reader does not hold the thread.
func TestLent_slowClient(t *testing.T) {
	c := connectLent(t)
	c.outlet.narrow.Store(true)
	var ids []string
	for i := range 2000 { // more than the pipe holds
		ids = append(ids, strconv.Itoa(i))
		c.write(execute(ids[i], "cell "+ids[i]) + "\n")
	}
	for len(c.thread.order()) < len(ids) {
		runtime.Gosched()
	}
	c.expect(ids...)
}

// Many requests of every kind at once, in pieces of any length.
func TestLent_hammer(t *testing.T) {
	c := connectLent(t)
	var lines strings.Builder
	var ids []string
	for i := range 3000 {
		id := strconv.Itoa(i)
		ids = append(ids, id)
		switch i % 5 {
		case 0:
			lines.WriteString(ping(id))
		case 1:
			lines.WriteString(toolCall(id, "get_execution", `{"wait_seconds":0}`))
		case 2:
			fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%s,"method":"tools/list"}`, id)
		default:
			lines.WriteString(execute(id, "cell "+id))
		}
		lines.WriteByte('\n')
	}
	go func() {
		text := lines.String()
		for size := 1; len(text) > 0; size = size*7%4999 + 1 {
			n := min(size, len(text))
			c.write(text[:n])
			text = text[n:]
		}
	}()
	c.expect(ids...)
}

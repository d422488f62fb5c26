package server

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ipython-mcp/shell"
)

// A client may send ten thousand requests before it reads the first answer.
func TestSession_pipelined(t *testing.T) {
	for name, request := range map[string]func(id string) string{
		"ping":    ping,
		"execute": func(id string) string { return execute(id, "cell") },
		"bad":     func(id string) string { return `{"id":` + id + `}` },
	} {
		t.Run(name, func(t *testing.T) {
			const requests = 10_000
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- newServer(t, Options{}).Serve(context.Background(), in, out) }()
			for i := range requests {
				if _, err := io.WriteString(toServer, request(strconv.Itoa(i))+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			_ = toServer.Close()
			done := make(chan int)
			go func() {
				all, _ := io.ReadAll(fromServer)
				done <- strings.Count(string(all), "\n")
			}()
			if err := <-served; err != nil {
				t.Error(err)
			}
			_ = out.Close()
			if got := <-done; got != requests {
				t.Errorf("%d answers to %d requests", got, requests)
			}
		})
	}
}

// An id is refused while it is in flight, whatever its spelling, and free afterwards.
func TestSession_duplicateIDs(t *testing.T) {
	release := make(chan struct{})
	namespace := newFakeNamespace()
	namespace.execute = func(_ context.Context, code string) (shell.ExecuteAnswer, error) {
		<-release
		return executed(code), nil
	}
	c := connect(t, newServer(t, Options{Namespace: namespace}))
	c.send(execute(`"a"`, "first"))
	for _, id := range []string{`"a"`, `"\u0061"`} {
		if got := decode(t, c.ask(ping(id))); got.Error == nil || got.Error.Code != -32600 || string(got.ID) != id {
			t.Errorf("a second request with id %s got %+v", id, got)
		}
	}
	close(release)
	if got := decode(t, c.next()); got.Error != nil || string(got.ID) != `"a"` {
		t.Errorf("the first request got %+v", got)
	}
	if got := decode(t, c.ask(ping(`"a"`))); got.Error != nil {
		t.Errorf("the id is not free: %+v", got)
	}
}

// The last line needs no newline; half a line at the end is an error, not a hang.
func TestSession_lastLine(t *testing.T) {
	for last, want := range map[string]string{
		ping("2"):                     `{"jsonrpc":"2.0","id":2,"result":{}}`,
		ping("2") + "\r\n":            `{"jsonrpc":"2.0","id":2,"result":{}}`,
		`{"jsonrpc":"2.0","id":2,"me`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		"\n \r\n":                     "",
		"":                            "",
	} {
		t.Run(strconv.Quote(last), func(t *testing.T) {
			var out strings.Builder
			in := strings.NewReader(ping("1") + "\r\n" + last)
			if err := newServer(t, Options{}).Serve(context.Background(), in, &out); err != nil {
				t.Fatal(err)
			}
			// The order of answers is free.
			lines := slices.Sorted(strings.Lines(out.String()))
			i := slices.Index(lines, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
			if i < 0 {
				t.Fatalf("the server said %q", lines)
			}
			got := strings.Join(slices.Delete(lines, i, i+1), "")
			if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
				t.Errorf("the server said %q", got)
			}
		})
	}
}

func TestServer_Serve_inputFails(t *testing.T) {
	broken := errors.New("the line is dead")
	in := io.MultiReader(strings.NewReader(ping("1")+"\n"), readerFunc(func([]byte) (int, error) { return 0, broken }))
	var out strings.Builder
	err := newServer(t, Options{}).Serve(context.Background(), in, &out)
	if !errors.Is(err, broken) || !strings.Contains(out.String(), `"id":1`) {
		t.Errorf("Serve returned %v after %q", err, out.String())
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A client that closes its reading end ends the session, also in the middle of a call.
func TestServer_Serve_outputBreaks(t *testing.T) {
	in, toServer := io.Pipe()
	fromServer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	started, withdrawn := make(chan struct{}), make(chan struct{})
	namespace := newFakeNamespace()
	namespace.execute = func(ctx context.Context, _ string) (shell.ExecuteAnswer, error) {
		close(started)
		<-ctx.Done()
		close(withdrawn)
		return shell.ExecuteAnswer{}, ctx.Err()
	}
	served := make(chan error, 1)
	go func() {
		served <- newServer(t, Options{Namespace: namespace}).Serve(context.Background(), in, out)
		_ = in.Close()
	}()
	_, _ = io.WriteString(toServer, execute("1", "slow")+"\n")
	<-started
	_ = fromServer.Close()
	_, _ = io.WriteString(toServer, ping("2")+"\n")
	select {
	case err := <-served:
		if !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Serve returned %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Serve did not return")
	}
	<-withdrawn
}

// A panic in a handler is an error for its call alone. The log says where, and nothing of the value.
func TestSession_panic(t *testing.T) {
	log, logged := logTo()
	namespace := newFakeNamespace()
	namespace.execute = func(_ context.Context, code string) (shell.ExecuteAnswer, error) {
		if code == "index" {
			return shell.ExecuteAnswer{}, errors.New(code[7:])
		}
		panic("secret " + code)
	}
	c := connect(t, newServer(t, Options{Namespace: namespace, Logger: log}))
	for _, line := range []string{execute("1", "boom"), execute("2", "index"), modern(execute("3", "boom"))} {
		got := decode(t, c.ask(line))
		if got.Error == nil || got.Error.Code != -32603 || strings.Contains(got.Error.Message, "secret") {
			t.Errorf("a panic was answered with %+v", got)
		}
	}
	if got := decodeCall(t, c.ask(toolCall("4", "list", "{}"))); got.IsError {
		t.Errorf("the next call got %+v", got)
	}
	for _, want := range []string{"outcome=panic", "session_test.go", "slice bounds out of range"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, logged)
		}
	}
	if strings.Contains(logged.String(), "secret") {
		t.Errorf("the log tells the panic's value:\n%s", logged)
	}
}

// The log has a line per call: tool, outcome, duration. It has nothing of what the client or the namespace said.
func TestSession_log(t *testing.T) {
	log, logged := logTo()
	namespace := newFakeNamespace()
	namespace.execute = func(_ context.Context, code string) (shell.ExecuteAnswer, error) {
		failure := &shell.Error{Code: "execution_error", Message: "secret " + code}
		return shell.ExecuteAnswer{Error: failure, Stdout: "secret"}, nil
	}
	c := connect(t, newServer(t, Options{Namespace: namespace, Logger: log}))
	for _, line := range []string{
		execute("1", "secret"),
		toolCall("2", "list", "{}"),
		toolCall("3", "call_function", `{"name":"secret","arguments":{"secret":1}}`),
		toolCall("4", "inspect", `{"secret":1}`),
		toolCall("5", "secret", `{}`),
		`{"jsonrpc":"2.0","id":6,"method":"secret"}`,
		`{"secret`,
	} {
		c.ask(line)
	}
	for _, want := range []string{
		`tool=execute outcome=execution_error duration=`, `tool=list outcome=ok duration=`,
		`tool=inspect outcome="invalid params" duration=`,
	} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, logged)
		}
	}
	if strings.Contains(logged.String(), "secret") || strings.Count(logged.String(), "\n") != 4 {
		t.Errorf("the log says:\n%s", logged)
	}
}

// Any number of slow calls wait beside quick ones, and each session has its own.
func TestServer_severalSessions(t *testing.T) {
	const calls = 50
	arrived, release := make(chan string, 2*calls), make(chan struct{})
	namespace := newFakeNamespace()
	namespace.execute = func(_ context.Context, code string) (shell.ExecuteAnswer, error) {
		arrived <- code
		<-release
		return executed(code), nil
	}
	s := newServer(t, Options{Namespace: namespace})
	conns := []*conn{connect(t, s), connect(t, s)}
	for i := range calls {
		for _, c := range conns {
			c.send(execute(strconv.Itoa(i), "cell "+strconv.Itoa(i)))
		}
	}
	<-arrived
	conns[0].send(cancelled("7")) // of the first session alone
	conns[0].ask(ping("1000"))
	close(release)
	for i, want := range []int{calls - 1, calls} {
		rest, err := conns[i].end()
		has7 := slices.ContainsFunc(rest, func(line string) bool { return string(decode(t, line).ID) == "7" })
		if len(rest) != want || err != nil || has7 != (i == 1) {
			t.Errorf("session %d: %d answers, %v", i, len(rest), err)
		}
	}
}

// There is an end to how many requests can be in flight; one more is refused, and the session goes on.
func TestSession_tooManyInFlight(t *testing.T) {
	var out strings.Builder
	s := newSession(context.Background(), newServer(t, Options{}), "test", strings.NewReader(""), &out)
	defer s.end()
	for i := range maxInFlight {
		s.inflight[strconv.Itoa(i)] = &request{}
	}
	s.accept([]byte(ping(`"more"`))).run()
	delete(s.inflight, "0")
	s.accept([]byte(ping(`"next"`))).run()
	want := `{"jsonrpc":"2.0","id":"more","error":{"code":-32000,` +
		`"message":"65536 requests are in flight; wait for answers"}}` + "\n" + `{"jsonrpc":"2.0","id":"next","result":{}}` + "\n"
	if out.String() != want {
		t.Errorf("the server said %s", out.String())
	}
}

// An early answer may be over only after its job is: the job has ended once all the same.
func TestSession_releasedAfterItsEnd(t *testing.T) {
	s := newSession(context.Background(), nil, "", strings.NewReader(""), io.Discard)
	j := job{request: &request{}}
	s.begin(j)
	s.finish(j)
	s.release(j.request)
	if s.jobs != 0 || s.running != 0 {
		t.Errorf("%d jobs are left, %d of them running", s.jobs, s.running)
	}
}

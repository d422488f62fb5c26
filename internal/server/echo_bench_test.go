package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// serveFloor is the hand-written loop that the server is measured against: it answers call_function with its
// arguments, in the same bytes, and knows nothing else.
func serveFloor(in io.Reader, out io.Writer) error {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return nil // the client is gone
		}
		var request struct {
			ID     json.RawMessage `json:"id"`
			Params struct {
				Name      string `json:"name"`
				Arguments struct {
					Name      string          `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &request); err != nil {
			return err
		}
		text := request.Params.Arguments.Arguments
		answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": map[string]any{
			"content": []any{map[string]any{"type": "text", "text": string(text)}},
			"structuredContent": map[string]any{
				"ok": true, "name": request.Params.Arguments.Name, "result": text,
				"error": nil, "truncated": false, "name_truncated": false,
			},
		}})
		if err != nil {
			return err
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
}

// echoProcess is this test binary in one of the two roles, at the other end of two OS pipes.
type echoProcess struct {
	cmd     *exec.Cmd
	in, out int // blocking descriptors
	close   func()
	buffer  []byte
}

func startEcho(b *testing.B, role string) *echoProcess {
	b.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), echoRole+"="+role)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = stdin.Close()
	_ = stdout.Close()
	// Fd makes a descriptor blocking: the client's own poller must not count.
	p := &echoProcess{cmd: cmd, in: int(in.Fd()), out: int(out.Fd()), buffer: make([]byte, 1<<16)}
	p.close = func() {
		_ = in.Close()
		_ = cmd.Wait()
		_ = out.Close()
	}
	return p
}

const echoArguments = `{"name":"echo","arguments":{"text":"thirty-two bytes of text in here"}}`

// echo makes n calls and returns the median time of one.
func (p *echoProcess) echo(b *testing.B, n int) time.Duration {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([]time.Duration, n)
	for i := range n {
		line := toolCall(strconv.Itoa(i), "call_function", echoArguments) + "\n"
		begun := time.Now()
		if _, err := syscall.Write(p.in, []byte(line)); err != nil {
			b.Fatal(err)
		}
		read := 0
		for read == 0 || p.buffer[read-1] != '\n' {
			got, err := syscall.Read(p.out, p.buffer[read:])
			if err != nil || got == 0 {
				b.Fatalf("read: %v after %d bytes", err, read)
			}
			read += got
		}
		times[i] = time.Since(begun)
		if i == 0 && !bytes.Contains(p.buffer[:read], []byte("thirty-two")) {
			b.Fatalf("answer: %s", p.buffer[:read])
		}
	}
	slices.Sort(times)
	return times[n/2]
}

// BenchmarkEchoRatio reports how much longer a call takes than with the hand-written loop: the median over rounds in
// which both take their turns. It must stay below 2.
func BenchmarkEchoRatio(b *testing.B) {
	floor, server := startEcho(b, "floor"), startEcho(b, "server")
	defer floor.close()
	defer server.close()
	const rounds, calls = 9, 2000
	floor.echo(b, calls)
	server.echo(b, calls)
	for b.Loop() {
		var ratios, floors, servers []float64
		for range rounds {
			f, s := floor.echo(b, calls), server.echo(b, calls)
			floors, servers = append(floors, us(f)), append(servers, us(s))
			ratios = append(ratios, us(s)/us(f))
		}
		b.ReportMetric(median(ratios), "ratio")
		b.ReportMetric(median(floors), "floor-µs")
		b.ReportMetric(median(servers), "server-µs")
		b.Logf("ratios %.2f", ratios)
	}
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// BenchmarkCall is the work of one call without pipes and wake-ups.
func BenchmarkCall(b *testing.B) {
	namespace := newFakeNamespace()
	namespace.silent = true
	s := newServer(b, Options{Namespace: namespace})
	line := []byte(toolCall("1", "call_function", echoArguments))
	ses := newSession(b.Context(), s, "bench", bytes.NewReader(nil), io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		j, _ := ses.acceptLine(line, nil)
		j.run()
	}
}

package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What these tests are about begins with the second call: from then on the protocol is read on Python's thread.

// keepThread has a background task keep Python's thread until it is interrupted.
func (s *server) keepThread() {
	s.t.Helper()
	s.succeed("import asyncio, time\nasync def keep():\n    await asyncio.sleep(0.01)\n    open('kept', 'w').close()\n" +
		"    while True: time.sleep(0.01)\ntask = asyncio.ensure_future(keep())")
	kept := filepath.Join(s.home, "kept")
	eventually(s.t, "the task", func() bool { return os.Remove(kept) == nil })
}

// A background task that keeps Python's thread takes nothing from the calls that wait for it: their limits hold, and they can be interrupted
// and withdrawn.
func TestLent_ThreadIsKept(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the beginning")
	s.keepThread()
	s.cancel(s.sendCell("happened = True"))
	e := decodeInto[execution](t, s.call("execute", map[string]any{"code": "'ran'", "wait_seconds": 0.1}).Structured)
	// Busy where the first call had begun before it was cancelled.
	if e.Status != "running" && e.Status != "busy" {
		t.Errorf("a call with a limit was %q", e.Status)
	}
	s.call("interrupt", map[string]any{})
	s.equals("'happened' in globals()", "false")
}

// Background tasks have their turns between calls that come in one write.
func TestLent_CallsInOneWrite(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import asyncio\nturns = 0\nasync def spin():\n    global turns\n    while True: await asyncio.sleep(0); turns += 1\n" +
		"task = asyncio.ensure_future(spin())")
	var lines strings.Builder
	for i := range 50 {
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"execute","arguments":{"code":"turns # %d"}}}`+"\n", i, i)
	}
	s.sendLine(strings.TrimSpace(lines.String()))
	seen := map[string]bool{}
	for i := range 50 {
		answer := decodeInto[answer](t, s.awaitResponse(fmt.Sprintf(`"c%d"`, i)).Result)
		seen[string(decodeInto[execution](t, answer.Structured).Result)] = true
	}
	if len(seen) < 25 {
		t.Errorf("50 calls saw %d turns", len(seen))
	}
}

// A client that does not read what it is refused does not hold Python's thread.
func TestLent_UnreadRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, options{unread: true, untidy: true})
	s.send("initialize", initializeParams("2025-06-18"))
	s.sendCell("import asyncio, os, threading, time\nloop = asyncio.get_event_loop()\ndef touch(name): open(name, 'w').close()\n" +
		"def wake():\n    while not os.path.exists('go'): time.sleep(0.01)\n    loop.call_soon_threadsafe(touch, 'woken')\n" +
		"threading.Thread(target=wake, daemon=True).start(); touch('first')")
	exists := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(s.home, name)); return err == nil }
	}
	eventually(t, "the first call", exists("first"))
	for i := range 10 { // Python's thread may be late for the first of them
		name := fmt.Sprint("call", i)
		s.sendCell("touch('" + name + "')")
		eventually(t, name, exists(name))
	}
	for range 20_000 { // more than the pipes hold, both of them
		s.sendLine("no message")
	}
	touch(t, filepath.Join(s.home, "go"))
	eventually(t, "the loop", exists("woken"))
	s.readOutput()
}

// Background tasks go on while the pictures of an answer are made fit.
func TestLent_LargePicture(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import asyncio, struct, time, zlib\nfrom IPython.display import Image, display\nlast = time.monotonic(); longest = 0\n" +
		"async def tick():\n    global last, longest\n    while True:\n        await asyncio.sleep(0.002); now = time.monotonic()\n" +
		"        longest = max(longest, now - last); last = now\n" +
		"def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\n" +
		"width, height = 4000, 3000\nrow = b'\\0' + bytes(range(250)) * 48\n" +
		"png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) + " +
		"chunk(b'IDAT', zlib.compress(row * height, 1)) + chunk(b'IEND', b'')\ntask = asyncio.ensure_future(tick())")
	s.call("execute", map[string]any{"code": "display(Image(data=png)); begun = last = time.monotonic(); longest = 0"}) // answered with the picture alone
	times := decodeInto[[]float64](t, s.succeed("[longest, time.monotonic() - begun]").Result)
	if times[0] > times[1]/2 {
		t.Errorf("of %v s, a background task had no turn in %v s", times[1], times[0])
	}
}

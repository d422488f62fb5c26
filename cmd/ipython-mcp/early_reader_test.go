package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

func TestEarlyReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		input, client := io.Pipe()
		opened, ended := make(chan struct{}), make(chan struct{})
		r := newEarlyReader(input, -1, opened, func() { close(ended) })
		sent := []string{"before ", "the handshake, ", "the read that was waiting, ", "directly"}
		for i, text := range sent {
			if i == 2 {
				synctest.Wait() // the early reader waits for more
				close(opened)
			}
			go func() { _, _ = io.WriteString(client, text) }()
			synctest.Wait()
			if i < 3 {
				continue
			}
			buffer := make([]byte, 5)
			var got strings.Builder
			for got.Len() < len(strings.Join(sent, "")) {
				n, err := r.Read(buffer)
				if err != nil {
					t.Fatal(err)
				}
				got.Write(buffer[:n])
			}
			if got.String() != strings.Join(sent, "") {
				t.Errorf("read %q", &got)
			}
		}
		client.Close()
		if _, err := r.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the end is %v", err)
		}
		<-ended
	})
}

// TestEarlyReader_NoticesTheEndBeforeAnybodyReads is why it exists.
func TestEarlyReader_NoticesTheEndBeforeAnybodyReads(t *testing.T) {
	ended := make(chan struct{})
	r := newEarlyReader(strings.NewReader("half a message"), -1, make(chan struct{}), func() { close(ended) })
	<-ended
	data, err := io.ReadAll(r)
	if err != nil || string(data) != "half a message" {
		t.Errorf("read %q, %v", data, err)
	}
}

func TestStartupLog_PassesOnTheBeginning(t *testing.T) {
	var out strings.Builder
	l := &startupLog{out: &out, left: 5}
	for _, text := range []string{"abc", "def", "ghi"} {
		if n, err := l.Write([]byte(text)); n != 3 || err != nil {
			t.Errorf("Write gave %d, %v", n, err)
		}
	}
	if out.String() != "abcde" {
		t.Errorf("passed on %q", &out)
	}
}

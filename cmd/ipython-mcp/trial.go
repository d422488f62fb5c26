package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// trialLimit is how long a trial start may take, preloads included.
	trialLimit = 2 * time.Minute
	// trialGrace is how long the server of a trial may take to end.
	trialGrace = 5 * time.Second
	// maxTrialStderr bounds what is kept of a trial's messages, in bytes.
	maxTrialStderr = 64 << 10
)

// trialRequests is a whole session: a handshake, and a call that is answered when the namespace is up.
var trialRequests = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"ipython-mcp doctor","version":"1"}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}`,
}

// tryStart starts a server with the given settings, asks it one thing and ends it. The error is what the server said
// about its failure.
func tryStart(ctx context.Context, lookup func(string) (string, bool)) error {
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, "serve")
	command.Env = os.Environ()
	for _, v := range variables() {
		if value, set := lookup(v.Name); set {
			command.Env = append(command.Env, v.Name+"="+value)
		}
	}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = trialGrace
	stderr := &headWriter{room: maxTrialStderr}
	command.Stderr = stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	answered := converse(stdin, stdout)
	_ = stdin.Close() // the server ends with it
	_, _ = io.Copy(io.Discard, stdout)
	ended := command.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("a trial start took longer than %v", trialLimit)
	}
	if answered != nil {
		if message := strings.TrimSpace(stderr.kept.String()); message != "" {
			return errors.New(message)
		}
		return answered
	}
	return ended
}

// converse sends the requests and waits for the answer to the last.
func converse(stdin io.Writer, stdout io.Reader) error {
	for _, request := range trialRequests {
		if _, err := io.WriteString(stdin, request+"\n"); err != nil {
			return fmt.Errorf("the server ended: %v", err)
		}
	}
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the server ended without an answer: %v", err)
		}
		var answer struct {
			ID     json.RawMessage `json:"id"`
			Result struct {
				IsError bool                    `json:"isError"`
				Content []struct{ Text string } `json:"content"`
			} `json:"result"`
		}
		if json.Unmarshal(line, &answer) != nil || string(answer.ID) != "2" {
			continue
		}
		if answer.Result.IsError && len(answer.Result.Content) > 0 {
			return errors.New(answer.Result.Content[0].Text)
		}
		return nil
	}
}

// headWriter keeps the beginning of what is written.
type headWriter struct {
	kept bytes.Buffer
	room int
}

func (w *headWriter) Write(data []byte) (int, error) {
	part := data[:min(len(data), w.room)]
	w.room -= len(part)
	w.kept.Write(part)
	return len(data), nil
}

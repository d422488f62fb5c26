package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// client speaks MCP to one server over its stdio, with as little work of its own as possible: what it costs is part of
// every measured round trip. It is for one goroutine.
type client struct {
	cmd     *exec.Cmd
	input   *os.File
	output  *bufio.Reader
	pipe    *os.File // what output reads
	last    int
	waiting map[int]message // answers that came before they were awaited
}

type message struct {
	ID     *int            `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// endLimit is how long a server may take to end after its input has ended.
const endLimit = 10 * time.Second

// dial starts a server; it does not wait for anything.
func dial(cmd *exec.Cmd) (*client, error) {
	theirInput, input, err := blockingPipe()
	if err != nil {
		return nil, err
	}
	output, theirOutput, err := blockingPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = theirInput, theirOutput
	err = cmd.Start()
	if err := errors.Join(err, theirInput.Close(), theirOutput.Close()); err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(output, 1<<16)
	return &client{cmd: cmd, input: input, output: buffered, pipe: output, waiting: map[int]message{}}, nil
}

// blockingPipe makes a pipe whose ends Go's poller does not know: waiting for an answer through it costs this program more
// than a quick call costs the server.
func blockingPipe() (read, write *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(ends[0]), "read end"), os.NewFile(uintptr(ends[1]), "write end"), nil
}

const initializeParams = `{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"bench","version":"1"}}`

// initialize shakes hands.
func (c *client) initialize() error {
	if _, err := c.call("initialize", initializeParams); err != nil {
		return err
	}
	_, err := io.WriteString(c.input, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}

// send writes a request and returns its id. The params are JSON.
func (c *client) send(method, params string) (int, error) {
	_, err := io.WriteString(c.input, c.request(method, params))
	return c.last, err
}

// request returns the line of the next request.
func (c *client) request(method, params string) string {
	c.last++
	return `{"jsonrpc":"2.0","id":` + strconv.Itoa(c.last) + `,"method":"` + method + `","params":` + params + "}\n"
}

// await returns the result of the request with this id.
func (c *client) await(id int) (json.RawMessage, error) {
	for {
		if answer, there := c.waiting[id]; there {
			delete(c.waiting, id)
			if answer.Error != nil {
				return nil, fmt.Errorf("the server refused: %s", answer.Error)
			}
			return answer.Result, nil
		}
		line, err := c.output.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("the server ended before its answer: %w", err)
		}
		if err := c.take(line); err != nil {
			return nil, err
		}
	}
}

// take keeps a message of the server's until its answer is awaited.
func (c *client) take(line []byte) error {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("the server wrote %.200q, which is no message: %w", line, err)
	}
	if m.ID != nil {
		c.waiting[*m.ID] = m
	}
	return nil
}

// trip makes a call whose answer is the next that the server writes, and returns how long that took; what
// the client does with the answer is not counted.
func (c *client) trip(method, params string) (time.Duration, error) {
	request := c.request(method, params)
	begun := time.Now()
	if _, err := io.WriteString(c.input, request); err != nil {
		return 0, err
	}
	line, err := c.output.ReadBytes('\n')
	took := time.Since(begun)
	if err != nil {
		return 0, fmt.Errorf("the server ended before its answer: %w", err)
	}
	if err := c.take(line); err != nil {
		return 0, err
	}
	if _, there := c.waiting[c.last]; !there {
		return 0, fmt.Errorf("the server wrote %.200q before its answer", line)
	}
	_, err = c.await(c.last)
	return took, err
}

func (c *client) call(method, params string) (json.RawMessage, error) {
	id, err := c.send(method, params)
	if err != nil {
		return nil, err
	}
	return c.await(id)
}

// toolParams returns the params of tools/call.
func toolParams(tool string, arguments map[string]any) string {
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		panic(err) // the arguments are literals of this program
	}
	return string(params)
}

func cellParams(code string) string { return toolParams("execute", map[string]any{"code": code}) }

// outcome is what execute answers, as far as it is of interest here.
type outcome struct {
	OK        bool            `json:"ok"`
	Result    json.RawMessage `json:"result"`
	Truncated struct {
		Omitted int64 `json:"stdout_omitted_chars"`
	} `json:"truncated"`
}

// execute runs a cell that must succeed.
func (c *client) execute(code string) (outcome, error) {
	var answer struct {
		Structured outcome `json:"structuredContent"`
	}
	result, err := c.call("tools/call", cellParams(code))
	if err != nil {
		return outcome{}, err
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return outcome{}, err
	}
	if !answer.Structured.OK {
		return outcome{}, fmt.Errorf("the cell %.80q failed: %.500s", code, result)
	}
	return answer.Structured, nil
}

// close ends the server as clients do and waits for it.
func (c *client) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() })()
	_ = c.input.Close()
	// What is still written must not keep the server from its end.
	_, _ = io.Copy(io.Discard, c.output)
	_ = c.pipe.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("ending %s: %w", c.cmd.Path, err)
	}
	return nil
}

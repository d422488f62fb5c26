package server

import (
	"context"
	"fmt"
	"time"

	"ipython-mcp/shell"
)

// busyRetrySeconds is after how long a call that was refused as busy may be worth trying again.
const busyRetrySeconds = 5.0

// startPatience is how long a call at least waits for the namespace to start, however short its clock is: most clients
// give up after a minute.
const startPatience = 45 * time.Second

// Status implements shell.Outcome.
func (r reply) Status() string {
	switch {
	case r.status != "":
		return r.status
	case r.failure != nil || r.broken != nil:
		return shell.StatusError
	}
	return shell.StatusOK
}

// Bytes implements shell.Outcome.
func (r reply) Bytes() int {
	size := len(r.text)
	for _, image := range r.images {
		size += len(image.Data)
	}
	switch value := r.value.(type) {
	case shell.ExecuteAnswer:
		size += len(value.Stdout) + len(value.Stderr) + len(value.Result)
		for _, display := range value.DisplayData {
			size += len(display.Data) + len(display.Metadata)
		}
	case shell.CallAnswer:
		size += len(value.Stdout) + len(value.Stderr) + len(value.Result)
	}
	return size
}

// answer runs a call to its end: by itself where it needs no turn, else as an execution.
func (s *Server) answer(ctx context.Context, c *call, args arguments, begun time.Time) (reply, error) {
	switch {
	case c.retry != nil:
		return s.resume(ctx, c, args, begun)
	case c.tool.unqueued:
		return s.runTool(ctx, c.tool, nil, args)
	}
	wanted := s.callOf(ctx, c, args, begun)
	waited := func() {}
	wanted.Began = func(a *shell.Attendance) {
		c.attendance.Store(a)
		waited = c.session.parking.wait(c, a.Execution)
	}
	wanted.Early = func(a *shell.Attendance) {
		if rep, err := s.outcome(a.Execution); err == nil {
			c.early(rep)
		}
	}
	attendance, err := s.namespace.Run(ctx, c.ticket, wanted)
	waited()
	if err != nil {
		return reply{}, err
	}
	return s.outcome(attendance.Execution)
}

func (s *Server) callOf(ctx context.Context, c *call, args arguments, begun time.Time) shell.Call {
	t, ticket := c.tool, c.ticket
	wanted := shell.Call{
		Tool:    t.definition.Name,
		Timeout: s.timeout,
		Clock:   s.clockOf(ctx, t, args, begun),
		Work: func(ctx context.Context) shell.Outcome {
			rep, err := s.runTool(ctx, t, ticket, args)
			if err != nil {
				return t.refuse(refusalOf(err), args)
			}
			return rep
		},
		Unfinished: func(e *shell.Execution) shell.Outcome { return t.unfinished(e, args) },
	}
	if t.schema != nil { // the arguments of a dynamic tool are its function's
		wanted.Timeout = args.seconds("timeout_seconds", s.timeout)
	}
	if t.cell != nil {
		cell := t.cell(args)
		wanted.Cell = &cell
	}
	return wanted
}

// clockOf is how long a call waits.
func (s *Server) clockOf(ctx context.Context, t *tool, args arguments, begun time.Time) shell.Clock {
	clock := shell.Clock{Reply: s.reply, Start: max(s.reply, startPatience), Report: s.reporter(ctx, begun)}
	if t.schema != nil { // the arguments of a dynamic tool are its function's
		clock.Reply = args.seconds("wait_seconds", s.reply)
	}
	return clock
}

// runTool runs a tool; a panic is a broken reply.
func (s *Server) runTool(ctx context.Context, t *tool, ticket *shell.Ticket, args arguments) (rep reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			rep, err = reply{broken: s.panicked("tool "+t.definition.Name, p)}, nil
		}
	}()
	return t.run(ctx, ticket, args)
}

// outcome is the reply of an execution, as far as there is one.
func (s *Server) outcome(e *shell.Execution) (reply, error) {
	outcome, err := s.namespace.Outcome(e)
	if err != nil {
		return reply{}, err
	}
	rep, is := outcome.(reply)
	if !is {
		return reply{}, fmt.Errorf("execution %s has ended with a %T", e.ID, outcome)
	}
	return rep, nil
}

// setStatus says in an answer that tells such things what has become of its execution.
func setStatus(answer any, status, id string) {
	if standing, is := answer.(shell.Standing); is {
		standing.SetStatus(status, id)
	}
}

const codeBusy = "busy"

// refusedStatus is the status of a call that was refused with an error.
func refusedStatus(e *shell.Error) string {
	switch {
	case e.Code == codeBusy:
		return shell.StatusBusy
	case e.Code == shell.CodeInterrupted:
		return shell.StatusInterrupted
	}
	return shell.StatusError
}

func busyError(busy *shell.BusyError) *shell.Error {
	retry := busyRetrySeconds
	e := &shell.Error{Code: codeBusy, Retryable: true, RetryAfterSeconds: &retry}
	const withdrawn = "this call waited %.1f s for its turn and was withdrawn; it will not run"
	e.Message = fmt.Sprintf(withdrawn, busy.Waited.Seconds())
	switch {
	case busy.Starts:
		e.Message = "the namespace is still starting: " + e.Message + ". Call again later."
	case busy.Running != nil:
		e.Message = fmt.Sprintf("%s: %s. Wait for it with get_execution, or stop it with interrupt; then call again.",
			runs(busy.Running), e.Message)
	default:
		e.Message = "another call is about to run: " + e.Message + ". Call again."
	}
	return e
}

// runs says since when an execution runs, and what keeps it from ending.
func runs(e *shell.Execution) string {
	text := fmt.Sprintf("execution %s (%s) has been running for %.1f s", e.ID, e.Tool(), e.Elapsed().Seconds())
	if obstacle := e.Obstacle(); obstacle != "" {
		text += ", and " + obstacle
	}
	return text
}

// unfinishedError is the answer of a tool that has no other way to say that its work goes on.
func unfinishedError(e *shell.Execution) *shell.Error {
	message := fmt.Sprintf("%s still runs after %.1f s, as execution %s. get_execution waits for its answer, interrupt stops it.",
		e.Tool(), e.Elapsed().Seconds(), e.ID)
	if obstacle := e.Obstacle(); obstacle != "" {
		message += " Now " + obstacle + "."
	}
	return &shell.Error{Code: "still_running", Message: message}
}

type getExecutionInput struct {
	ExecutionID string  `json:"execution_id,omitempty" jsonschema_description:"By default of what runs, else of the last one."`
	Wait        float64 `json:"wait_seconds,omitempty" jsonschema:"minimum=0,default=0,description=How long to wait for the end."`
}

var getExecutionText = toolText{
	name:  "get_execution",
	title: "Get an execution",
	hints: hints{readOnly: true, idempotent: true},
	input: getExecutionInput{},
	description: `
Look at code that is running or has ended: its status, what it has printed and displayed so far and, once it has ended,
the answer that the original call gives. Use it after an answer with status "running": with wait_seconds it waits for the end, so
that nothing has to be sent twice. Answers at once while code runs.

status is running, ok, error or interrupted; note says what keeps running code from ending, where that is known. The last
executions are kept, so that an answer can be read again.`,
}

// getExecutionTool is the tool that answers with another call's answer.
func (s *Server) getExecutionTool() (*tool, error) {
	t, err := define(s, getExecutionText, operation[shell.ExecuteAnswer]{
		failure:  func(a *shell.ExecuteAnswer) **shell.Error { return &a.Error },
		complete: completeExecute,
		render:   renderExecute,
		unqueued: true,
	})
	if err != nil {
		return nil, err
	}
	t.run = func(ctx context.Context, _ *shell.Ticket, args arguments) (reply, error) {
		return s.getExecution(ctx, t, args)
	}
	return t, nil
}

func (s *Server) getExecution(ctx context.Context, t *tool, args arguments) (reply, error) {
	execution, err := s.namespace.Find(args.text("execution_id"))
	if err != nil {
		return noExecution(t, args, shell.CodeUnknownExecution, err), nil
	}
	return s.look(ctx, t, args, execution)
}

// look waits for an execution as get_execution does, and answers with what there is to say of it.
func (s *Server) look(ctx context.Context, t *tool, args arguments, execution *shell.Execution) (reply, error) {
	if r := requestFrom(ctx); r != nil {
		defer r.session.parking.wait(r.call, execution)()
	}
	clock := shell.Clock{Reply: args.seconds("wait_seconds", 0), Report: s.reporter(ctx, time.Now())}
	if err := s.namespace.Wait(ctx, execution, clock); err != nil {
		return reply{}, err
	}
	rep, err := s.outcome(execution)
	if err != nil {
		return noExecution(t, args, "answer_not_kept", err), nil
	}
	if a, is := rep.value.(shell.CallAnswer); is && a.Status == "" {
		a.SetStatus(rep.Status(), execution.ID)
		rep.value = a
	}
	return rep, nil
}

// noExecution is the answer where there is no other to give; the server has worked all the same.
func noExecution(t *tool, args arguments, code string, err error) reply {
	rep := t.refuse(&shell.Error{Code: code, Message: err.Error()}, args)
	rep.refused = false
	return rep
}

type interruptInput struct {
	ExecutionID string `json:"execution_id,omitempty" jsonschema_description:"By default of what runs, else of the last one."`
}

var interruptText = toolText{
	name:  "interrupt",
	title: "Interrupt running code",
	hints: hints{destructive: true, idempotent: true},
	input: interruptInput{},
	description: `
Stop running code by raising KeyboardInterrupt in it, as Ctrl-C does, and say whether it has ended. The session and its
names stay. Works at once while code runs, also for code that sleeps or waits for a child, a lock or a socket.

interrupted is true when it ran and has ended. Where it is false and status is running, the code is in a C function that
does not look for interrupts, or catches them: stack shows where, and note says what can be done.`,
}

func (s *Server) interrupt() operation[shell.InterruptAnswer] {
	return operation[shell.InterruptAnswer]{
		run: func(ctx context.Context, _ *shell.Ticket, args arguments) (shell.InterruptAnswer, error) {
			return s.namespace.Interrupt(ctx, args.text("execution_id"))
		},
		failure:    func(a *shell.InterruptAnswer) **shell.Error { return &a.Error },
		render:     renderInterrupt,
		unqueued:   true,
		structured: true,
	}
}

func renderInterrupt(a shell.InterruptAnswer) string {
	var p page
	p.add(a.Note)
	if a.Stack != nil {
		p.add(*a.Stack)
	}
	p.failed(a.Error)
	return p.or("nothing was interrupted")
}

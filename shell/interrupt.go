package shell

import (
	"context"
	"fmt"
	"time"
)

// interruptPatience is how long an interrupt is given to take, children of the code that are told of it too.
const interruptPatience = 2 * time.Second

// CodeUnknownExecution is the error code for an execution that is not known.
const CodeUnknownExecution = "unknown_execution"

// InterruptAnswer is the answer of interrupt.
type InterruptAnswer struct {
	OK          bool    `json:"ok"`
	ExecutionID *string `json:"execution_id"`
	Interrupted bool    `json:"interrupted"` // it ran, and has ended
	Status      string  `json:"status"`
	Stack       *string `json:"stack"` // of code that has not ended; null where it cannot be read
	Note        string  `json:"note"`
	Error       *Error  `json:"error"`
}

// Interrupt raises KeyboardInterrupt in the execution of that id, again and again for code that catches it; with no id, in
// the one that runs. It waits a moment for the end and says what has become of it.
func (s *Shell) Interrupt(ctx context.Context, id string) (InterruptAnswer, error) {
	e, err := s.executions.find(id)
	if err != nil {
		return InterruptAnswer{Status: StatusError, Error: &Error{Code: CodeUnknownExecution, Message: err.Error()}}, nil
	}
	answer := InterruptAnswer{OK: true, ExecutionID: &e.ID, Status: StatusRunning}
	ran := s.stop(e, &Interruption{Reason: "by a call of interrupt"})
	ended, err := await(ctx, e.done, time.Now().Add(interruptPatience), nil)
	switch {
	case err != nil:
		return InterruptAnswer{}, err
	case !ended:
		answer.Stack = s.readStack()
		answer.Note = fmt.Sprintf("execution %s has not ended: it is in code that does not look for interrupts, or catches them. The "+
			"interrupt stays pending. Wait and look again with get_execution, or restart the server, which loses the namespace.", e.ID)
	default:
		answer.Interrupted, answer.Status = ran, s.executions.statusOf(e)
		answer.Note = fmt.Sprintf("execution %s has ended; get_execution has its answer. The namespace is as it left it.", e.ID)
		if !ran {
			answer.Note = fmt.Sprintf("execution %s had ended before; nothing was interrupted.", e.ID)
		}
	}
	return answer, nil
}

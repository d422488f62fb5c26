package shell

import (
	"context"
	"encoding/json"
	"strings"

	"ipython-mcp/internal/bounds"
)

// Question is what running code asks a person for: a line of text.
type Question struct {
	Prompt string // plain text of at most Limits.TextChars and a marker, without blanks around it; may be empty
	Secret bool   // the code means the answer to be hidden
}

// Asker puts a question to a person and waits for the answer. Where there is none, the error's text says why, in words that follow
// "input()". The context ends when nobody waits for the answer any more.
type Asker func(ctx context.Context, q Question) (string, error)

// asked is a question as Python sends it.
type asked struct {
	Number int    `json:"number"`
	Prompt string `json:"prompt"`
	Secret bool   `json:"secret"`
}

// asking is what one turn has to do with questions. Python asks one at a time. All methods are the turn's.
type asking struct {
	shell     *Shell
	asker     Asker
	recording *recording
	withdraw  context.CancelFunc // ends the open question; does nothing where there is none
}

func (s *Shell) newAsking(asker Asker, r *recording) *asking {
	if asker == nil {
		return nil
	}
	return &asking{shell: s, asker: asker, recording: r, withdraw: func() {}}
}

// follow takes a frame that Python sent before its reply, and reports whether it was about a question.
func (a *asking) follow(question *asked, withdrawn int) bool {
	switch {
	case a == nil:
		return false
	case question != nil:
		a.put(*question)
	case withdrawn != 0:
		a.withdraw()
	default:
		return false
	}
	return true
}

// put asks a question. The answer goes to Python on a goroutine of its own, which ends with the question.
func (a *asking) put(question asked) {
	q := Question{Prompt: a.plain(question.Prompt), Secret: question.Secret}
	ctx, cancel := context.WithCancel(context.Background())
	a.withdraw = cancel
	a.recording.questions.Add(1)
	go func() {
		defer a.recording.questions.Add(-1)
		defer cancel()
		text, err := a.asker(ctx, q)
		if ctx.Err() != nil {
			return
		}
		answer := map[string]any{"number": question.Number}
		if err != nil {
			answer["refusal"] = err.Error()
		} else {
			answer["text"] = text
		}
		// Strings and a number can be encoded. A channel that is gone is noticed by the call that runs.
		frame, _ := json.Marshal(map[string]any{"answer": answer})
		_ = a.shell.engine.Send(frame)
	}()
}

// plain is the prompt as a terminal would show it. Code that prints its question and then asks with a blank prompt means the line that it
// has begun.
func (a *asking) plain(prompt string) string {
	shown := bounds.NewStream(a.shell.limits.TextChars, nil)
	_, _ = shown.Write([]byte(prompt)) // into memory
	if text := strings.TrimSpace(shown.Close().Render("")); text != "" {
		return text
	}
	a.shell.output.Redirect(a.recording.stdout, a.recording.stderr) // also takes in what was just written
	printed := a.recording.stdout.Snapshot()
	text := printed.Head + printed.Tail
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// end withdraws what is open at the end of the turn: the interpreter has ended.
func (a *asking) end() {
	if a != nil {
		a.withdraw()
	}
}

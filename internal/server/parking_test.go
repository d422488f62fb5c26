package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ipython-mcp/shell"
)

// asking makes a tools/call one of revision 2026-07-28 whose client shows forms.
func asking(call string) string {
	return strings.Replace(modern(call), `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
}

// retrying is that call again, with the answer to a question.
func retrying(call, state, text string) string {
	answer := strings.Replace(accepted(`{"value":"`+text+`"}`), "result", inputKey, 1)
	return strings.Replace(asking(call), `"arguments"`, `"requestState":"`+state+`","inputResponses":{`+answer+`},"arguments"`, 1)
}

// stateOf is the state of an input-required result.
func stateOf(t *testing.T, line string) string {
	t.Helper()
	var result struct{ ResultType, RequestState string }
	if err := json.Unmarshal(decode(t, line).Result, &result); err != nil || result.ResultType != "input_required" {
		t.Fatalf("the answer is %.300s, %v", line, err)
	}
	return result.RequestState
}

// Of retries that arrive together, one is answered by the code and the others hear why not.
func TestParking_oneRetryCounts(t *testing.T) {
	c, engine := converseWith(t, `{}`)
	for range 20 {
		state := stateOf(t, c.ask(asking(execute("0", "ask ?"))))
		for _, id := range []string{"1", "2", "3"} {
			c.send(retrying(execute(id, "ask ?"), state, "yes"))
		}
		answers := 0
		for range 3 {
			switch line := c.next(); {
			case decode(t, line).Error == nil:
				answers++
				if got := told(t, line); got != "text yes" {
					t.Errorf("the code was told %q", got)
				}
			case !strings.Contains(line, "names no open question"):
				t.Errorf("a retry too many is answered with %s", line)
			}
		}
		if answers != 1 {
			t.Errorf("%d of three retries were answered", answers)
		}
	}
	if ran := engine.order(); len(ran) != 20 {
		t.Errorf("%d cells ran", len(ran))
	}
}

// The arguments of a retry may be written in another way, and those of a tool without any be missing.
func TestParking_sameArguments(t *testing.T) {
	for _, test := range []struct {
		first, second string
		same          bool
	}{
		{`{"a":1,"b":[2]}`, `{ "b" : [2], "a":1 }`, true},
		{`{"a":"\u0041"}`, `{"a":"A"}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{}`, ``, true},
		{`null`, `{}`, true},
		{``, `{"a":1}`, false},
	} {
		shaped := func(raw string) *call {
			if raw == "" {
				return &call{tool: new(tool)}
			}
			return &call{tool: new(tool), arguments: json.RawMessage(raw)}
		}
		if got := shaped(test.first).isLike(shaped(test.second)); got != test.same {
			t.Errorf("%s and %s: %v", test.first, test.second, got)
		}
	}
}

// A question is open for the connection alone that was asked.
func TestParking_otherSession(t *testing.T) {
	server := newServer(t, Options{Namespace: startShell(t, newScriptedEngine())})
	mine, other := connect(t, server), connect(t, server)
	state := stateOf(t, mine.ask(asking(execute("1", "ask ?"))))
	if line := other.ask(retrying(execute("1", "ask ?"), state, "theirs")); !strings.Contains(line, "names no open question") {
		t.Errorf("another connection got %s", line)
	}
	if got := told(t, mine.ask(retrying(execute("2", "ask ?"), state, "mine"))); got != "text mine" {
		t.Errorf("the code was told %q", got)
	}
}

// A revision is chosen by what the key says, however it is spelled.
func TestParking_escapedKeys(t *testing.T) {
	c, _ := converseWith(t, `{"elicitation":{}}`)
	call := strings.NewReplacer("protocolVersion", `protocol\u0056ersion`, "clientCapabilities", `client\u0043apabilities`).
		Replace(asking(execute("1", "ask ?")))
	if state := stateOf(t, c.ask(call)); state == "" {
		t.Error("the question has no state")
	}
}

// carrier is a call that notes whether it was answered with a question.
func carrier(declines bool) (c *call, answered *bool) {
	answered = new(bool)
	c = &call{tool: new(tool), stateless: true, forms: true}
	c.early = func(rep reply) bool {
		*answered = *answered || !declines
		return !declines
	}
	return c, answered
}

func newParked(ctx context.Context, e *shell.Execution, limit time.Duration) *parked {
	return &parked{
		ctx: ctx, state: "state", execution: e, answers: make(chan json.RawMessage, 1), patience: limit, limit: time.NewTimer(limit),
	}
}

// A question that its code has given up is closed at once, although it is still listed: its execution may have ended.
func TestParking_givenUp(t *testing.T) {
	var p parking
	e := new(shell.Execution)
	ctx, cancel := context.WithCancel(t.Context())
	first, taken := carrier(false)
	p.wait(first, e)
	p.open(newParked(ctx, e, patience))
	retries := func() *protocolError {
		return p.claim(&call{tool: first.tool, retry: &retry{state: json.RawMessage(`"state"`)}})
	}
	if refused := retries(); !*taken || refused != nil {
		t.Errorf("a retry of an open question got %v", refused)
	}
	cancel()
	if refused := retries(); refused == nil || !strings.Contains(refused.message, "given up") {
		t.Errorf("a retry of a question that was given up got %v", refused)
	}
	p.undelivered(first)
	next, taken := carrier(false)
	if p.wait(next, e); *taken {
		t.Error("a question that was given up left with a call")
	}
}

// A question leaves with the oldest call that waits for its execution and has not been answered; one whose answer was not sent takes it
// back, and the next call gets it.
func TestParking_carriers(t *testing.T) {
	var p parking
	e, other := new(shell.Execution), new(shell.Execution)
	q := newParked(t.Context(), e, patience)
	elsewhere, notThis := carrier(false)
	answered, notIt := carrier(true)
	first, taken := carrier(false)
	second, nor := carrier(false)
	p.wait(elsewhere, other)
	p.wait(answered, e)
	p.wait(first, e)
	done := p.wait(second, e)
	p.open(q)
	if *notThis || *notIt || !*taken || *nor || q.carrier != first {
		t.Errorf("the question went to %v %v %v %v", *notThis, *notIt, *taken, *nor)
	}
	first.early = func(reply) bool { return false } // it has been answered now
	done()
	p.undelivered(first)
	if *nor || q.carrier != nil {
		t.Error("the question went to a call that waits no more")
	}
	p.undelivered(second)
	p.wait(second, e)
	if !*nor || q.carrier != second {
		t.Error("the question did not go to the next call that waits")
	}
	p.close()
	if _, open := <-q.answers; open {
		t.Error("the question got an answer")
	}
}

// The limit begins anew when the question leaves. A question after the end of the session has no answer.
func TestParking_limit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Minute
		var p parking
		e := new(shell.Execution)
		ask := func() error {
			_, err := p.ask(newParked(t.Context(), e, limit))
			return err
		}
		begun := time.Now()
		if err := ask(); time.Since(begun) != limit || !strings.Contains(err.Error(), "no get_execution") {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		begun = time.Now()
		c, _ := carrier(false)
		time.AfterFunc(limit/2, func() { p.wait(c, e) })
		if err := ask(); time.Since(begun) != limit+limit/2 || !strings.Contains(err.Error(), "did not call again within 60 s") {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		time.AfterFunc(limit/2, p.close)
		for range 2 {
			if err := ask(); err != errDisconnected {
				t.Errorf("the error is %v", err)
			}
		}
	})
}

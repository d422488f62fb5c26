package shell

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// asks is a cell that asks what the frame says, and returns its answer.
func asks(t *testing.T, engine **fakeEngine, frame string) func(string, map[string]any) string {
	return func(string, map[string]any) string {
		if (*engine).take([]byte(frame)) {
			t.Error("a question was taken for the reply")
		}
		return `"value": {"ok": true, "result": ` + <-(*engine).sent + `}`
	}
}

func TestShell_Asks(t *testing.T) {
	for _, test := range []struct {
		name, question, printed string
		text                    string
		err                     error
		asked                   Question
		answer                  string
	}{
		{"text", `{"number":7,"prompt":"name: ","secret":false}`, "", "<Zoë>\n", nil, Question{"name:", false}, `{"number":7,"text":"<Zoë>\n"}`},
		{"nothing", `{"number":8,"prompt":"","secret":true}`, "", "", nil, Question{"", true}, `{"number":8,"text":""}`},
		{"refusal", `{"number":9,"prompt":"?"}`, "", "", errors.New("was declined"), Question{"?", false}, `{"number":9,"refusal":"was declined"}`},
		{"terminal sequences", `{"number":1,"prompt":"\u001b[1mbold\u001b[0m\u0007 "}`, "", "x", nil, Question{"bold", false}, `{"number":1,"text":"x"}`},
		{"printed before", `{"number":1,"prompt":" "}`, "first\nName:", "x", nil, Question{"Name:", false}, `{"number":1,"text":"x"}`},
		{"a prompt of its own", `{"number":1,"prompt":"p"}`, "Name:", "x", nil, Question{"p", false}, `{"number":1,"text":"x"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var engine *fakeEngine
			var output *fakeOutput
			ask := asks(t, &engine, `{"id":2,"ask":`+test.question+`}`)
			s, engine, output := started(t, func(op string, args map[string]any) string {
				output.print(test.printed, "")
				return ask(op, args)
			})
			ticket := s.Reserve()
			ticket.Ask = func(_ context.Context, q Question) (string, error) {
				if q != test.asked {
					t.Errorf("the question is %+v", q)
				}
				return test.text, test.err
			}
			answer, err := s.Execute(t.Context(), ticket, Cell{Code: "code"})
			want := strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(`{"answer":` + test.answer + `}`)
			if err != nil || string(answer.Result) != want {
				t.Errorf("Python got %s, %v; want %s", answer.Result, err, want)
			}
		})
	}
}

func TestShell_CutsLongPrompts(t *testing.T) {
	var engine *fakeEngine
	s, engine, _ := started(t, asks(t, &engine, `{"id":2,"ask":{"number":1,"prompt":"`+strings.Repeat("x", 1000)+`?"}}`))
	ticket := s.Reserve()
	ticket.Ask = func(_ context.Context, q Question) (string, error) { return q.Prompt, nil }
	answer, err := s.Execute(t.Context(), ticket, Cell{Code: "code"})
	if err != nil || len(answer.Result) > 150 || !strings.Contains(string(answer.Result), `xxx?"`) {
		t.Errorf("the question is %s, %v", answer.Result, err)
	}
}

// What Python gives up is withdrawn from the person, and an answer that comes all the same is not sent.
func TestShell_WithdrawsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var engine *fakeEngine
		withdrawn := make(chan struct{})
		s, engine, _ := started(t, func(string, map[string]any) string {
			engine.take([]byte(`{"id":2,"ask":{"number":1,"prompt":"?"}}`))
			synctest.Wait()
			if engine.take([]byte(`{"id":2,"withdraw":1}`)) {
				t.Error("a withdrawal was taken for the reply")
			}
			<-withdrawn
			synctest.Wait()
			return executed
		})
		ticket := s.Reserve()
		ticket.Ask = func(ctx context.Context, _ Question) (string, error) {
			<-ctx.Done()
			close(withdrawn)
			return "too late", nil
		}
		if _, err := s.Execute(t.Context(), ticket, Cell{Code: "code"}); err != nil {
			t.Fatal(err)
		}
		if len(engine.sent) > 0 {
			t.Errorf("Python got %s", <-engine.sent)
		}
	})
}

// A question that is open when the interpreter ends is withdrawn.
func TestShell_WithdrawsAtTheEnd(t *testing.T) {
	var engine *fakeEngine
	withdrawn := make(chan struct{})
	s, engine, _ := started(t, func(string, map[string]any) string {
		engine.take([]byte(`{"id":2,"ask":{"number":1,"prompt":"?"}}`))
		return ""
	})
	ticket := s.Reserve()
	ticket.Ask = func(ctx context.Context, _ Question) (string, error) {
		<-ctx.Done()
		close(withdrawn)
		return "", ctx.Err()
	}
	if _, err := s.Execute(t.Context(), ticket, Cell{Code: "code"}); !errors.Is(err, ErrEnded) {
		t.Errorf("error is %v", err)
	}
	<-withdrawn
}

// Python hears with each request whether somebody can be asked.
func TestShell_TellsWhoCanBeAsked(t *testing.T) {
	var requests []string
	s, engine, _ := started(t, func(string, map[string]any) string { return executed })
	s.engine = recordingEngine{engine, &requests}
	for _, asker := range []Asker{nil, func(context.Context, Question) (string, error) { return "", nil }, nil} {
		ticket := s.Reserve()
		ticket.Ask = asker
		if _, err := s.Execute(t.Context(), ticket, Cell{Code: "code"}); err != nil {
			t.Fatal(err)
		}
		if last := requests[len(requests)-1]; strings.Contains(last, `"can_ask":true`) != (asker != nil) {
			t.Errorf("the request is %s", last)
		}
	}
}

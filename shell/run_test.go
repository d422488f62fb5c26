package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ended is an outcome of a size.
type ended struct {
	name string
	size int
}

func (e ended) Status() string { return StatusOK }
func (e ended) Bytes() int     { return e.size }

// working is a call of so much work that tells early replies to a channel.
func working(name string, work func(context.Context), clock Clock, early chan string) Call {
	return Call{
		Tool: name, Cell: &Cell{Code: name}, Clock: clock,
		Work:       func(ctx context.Context) Outcome { work(ctx); return ended{name: name, size: 1} },
		Early:      func(a *Attendance) { early <- a.Execution.ID; a.Leave(nil) },
		Unfinished: func(*Execution) Outcome { return ended{name: "unfinished"} },
	}
}

func sleep(d time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
}

func inBubble(t *testing.T, test func(t *testing.T, s *Shell, early chan string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := started(t, func(string, map[string]any) string { return executed })
		test(t, s, make(chan string, 10))
	})
}

// follow waits for the end of an execution.
func follow(t *testing.T, s *Shell, id string, limit time.Duration) (*Execution, error) {
	t.Helper()
	e, err := s.Find(id)
	if err != nil {
		return nil, err
	}
	return e, s.Wait(t.Context(), e, Clock{Reply: limit})
}

func TestShell_RunAnswersEarlyAndGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		begun := time.Now()
		ran := make(chan error, 1)
		go func() {
			_, err := s.Run(t.Context(), s.Reserve(), working("a", sleep(time.Minute), Clock{Reply: time.Second}, early))
			ran <- err
		}()
		if id := <-early; id != "e1" || time.Since(begun) != time.Second {
			t.Errorf("%s came early after %v", id, time.Since(begun))
		}
		e, err := follow(t, s, "e1", time.Second)
		if outcome, kept := s.Outcome(e); err != nil || kept != nil || outcome.(ended).name != "unfinished" {
			t.Errorf("while it runs: %v, %v, %v", outcome, kept, err)
		}
		if _, err := follow(t, s, "", time.Hour); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("it ended after %v, %v", time.Since(begun), err)
		}
		if outcome, err := s.Outcome(e); err != nil || outcome.(ended).name != "a" || <-ran != nil {
			t.Errorf("it ended with %v, %v", outcome, err)
		}
	})
}

// An id that was told is known, however soon the work ends behind the early answer.
func TestShell_RunKeepsWhatItTold(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		call := working("a", sleep(time.Minute), Clock{Reply: time.Second}, early)
		call.Cell = nil
		told := make(chan *Attendance, 1)
		call.Early = func(a *Attendance) {
			_, _ = s.Outcome(a.Execution)
			told <- a
		}
		go func() { _, _ = s.Run(t.Context(), s.Reserve(), call) }()
		a := <-told
		time.Sleep(time.Hour)
		a.Leave(nil)
		if e, err := s.Find(a.Execution.ID); err != nil || e != a.Execution {
			t.Errorf("the execution is %v, %v", e, err)
		}
	})
}

func TestShell_RunWithdrawsWhatIsNotDueInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		first, second := s.Reserve(), s.Reserve()
		go func() { _, _ = s.Run(t.Context(), first, working("a", sleep(time.Minute), Clock{}, early)) }()
		<-early
		never := func(context.Context) { t.Error("a withdrawn call ran") }
		_, err := s.Run(t.Context(), second, working("b", never, Clock{Reply: time.Second}, early))
		var busy *BusyError
		if !errors.As(err, &busy) || busy.Running.ID != "e1" || busy.Waited != time.Second {
			t.Errorf("error is %v", err)
		}
		time.Sleep(time.Hour)
		if _, err := s.List(t.Context(), s.Reserve()); err != nil {
			t.Error(err)
		}
	})
}

// A call waits for a slow start beyond its own clock, which then counts from the end of the start.
func TestShell_RunWaitsForTheStart(t *testing.T) {
	for _, test := range []struct {
		start   time.Duration
		outcome string
	}{{10 * time.Second, "a"}, {50 * time.Second, "starting"}} {
		synctest.Test(t, func(t *testing.T) {
			s, _, _ := newTestShell(t, nil)
			time.AfterFunc(test.start, func() { _ = s.Start(Settings{}, io.Discard) })
			early := make(chan string, 1)
			clock := Clock{Reply: 2 * time.Second, Start: 45 * time.Second}
			a, err := s.Run(t.Context(), s.Reserve(), working("a", sleep(time.Second), clock, early))
			got := "starting"
			var busy *BusyError
			if err == nil {
				outcome, _ := s.Outcome(a.Execution)
				got = outcome.(ended).name
			} else if !errors.As(err, &busy) || !busy.Starts {
				t.Errorf("error is %v", err)
			}
			if got != test.outcome || len(early) > 0 {
				t.Errorf("a start of %v gives %s", test.start, got)
			}
			time.Sleep(time.Minute)
		})
	}
}

// The same call joins the one that runs, unless that is being interrupted; the last one that is cancelled takes it along.
func TestShell_RunJoins(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		var cause error
		work := func(ctx context.Context) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(time.Second) // as code does that cleans up
		}
		clock := Clock{Reply: time.Hour}
		contexts := make([]context.Context, 3)
		cancels := make([]context.CancelCauseFunc, 3)
		left := make(chan int, 3)
		for i := range contexts {
			contexts[i], cancels[i] = context.WithCancelCause(t.Context())
			go func() {
				a, err := s.Run(contexts[i], s.Reserve(), working("a", work, clock, early))
				if a.Execution.ID != "e1" {
					t.Errorf("call %d is execution %s", i, a.Execution.ID)
				}
				a.Leave(err)
				left <- i
			}()
			synctest.Wait()
		}
		gone := errors.New("gone")
		cancels[0](gone)
		cancels[1](gone)
		synctest.Wait()
		if cause != nil || len(left) != 1 {
			t.Errorf("two of three calls were cancelled: %v, %d left", cause, len(left))
		}
		cancels[2](gone)
		synctest.Wait()
		var interrupted *Interruption
		if !errors.As(cause, &interrupted) || interrupted.Reason != "gone" {
			t.Errorf("the work was interrupted by %v", cause)
		}
		a, err := s.Run(t.Context(), s.Reserve(), working("a", sleep(0), clock, early))
		if err != nil || a.Execution.ID != "e2" {
			t.Errorf("a call beside the interrupted one is %+v, %v", a, err)
		}
	})
}

// A call hears of its execution before the work, whether it is its own or another's.
func TestShell_RunTellsOfTheBeginning(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		var told []string
		call := func(name string, work func(context.Context)) Call {
			c := working("a", work, Clock{Reply: time.Hour}, early)
			c.Began = func(a *Attendance) { told = append(told, name+" "+a.Execution.ID) }
			return c
		}
		go func() {
			a, _ := s.Run(t.Context(), s.Reserve(), call("own", func(context.Context) {
				told = append(told, "work")
				time.Sleep(time.Second)
			}))
			a.Leave(nil)
		}()
		synctest.Wait()
		a, err := s.Run(t.Context(), s.Reserve(), call("joined", nil))
		if got := strings.Join(told, ", "); err != nil || a.Execution.ID != "e1" || got != "own e1, work, joined e1" {
			t.Errorf("%s, %v", got, err)
		}
	})
}

// A call that attends an execution that others have left takes it along when it is cancelled.
func TestShell_Attend(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		go func() { _, _ = s.Run(t.Context(), s.Reserve(), working("a", sleep(time.Hour), Clock{}, early)) }()
		e, err := s.Find(<-early)
		if err != nil {
			t.Fatal(err)
		}
		s.Attend(e).Leave(nil)
		if err := s.Wait(t.Context(), e, Clock{Reply: time.Minute}); err != nil || e.ended() {
			t.Errorf("an answered call ended the work, %v", err)
		}
		s.Attend(e).Leave(errors.New("gone"))
		begun := time.Now()
		if err := s.Wait(t.Context(), e, Clock{Reply: time.Minute}); err != nil || time.Since(begun) > 0 {
			t.Errorf("a cancelled call left the work running, %v", err)
		}
	})
}

func TestShell_RunTimesOut(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		class := "KeyboardInterrupt"
		e := &Error{ErrorType: &class}
		call := working("a", func(ctx context.Context) {
			<-ctx.Done()
			if !ExplainInterruption(ctx, &Ticket{hit: true}, e) {
				t.Error("the error is not explained")
			}
		}, Clock{Reply: time.Hour}, early)
		call.Timeout = 1500 * time.Millisecond
		if _, err := s.Run(t.Context(), s.Reserve(), call); err != nil || !strings.Contains(e.Message, "1.5 s") {
			t.Errorf("%v: %s", err, e.Message)
		}
	})
}

// What is kept is bounded in number and in size; the newest outcome stays whatever its size.
func TestShell_RunKeepsABoundedPast(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		run := func(i, size int) {
			call := working(fmt.Sprint(i), sleep(0), Clock{Reply: time.Hour}, early)
			call.Work = func(context.Context) Outcome { return ended{size: size} }
			a, err := s.Run(t.Context(), s.Reserve(), call)
			if err != nil {
				t.Fatal(err)
			}
			a.Leave(nil)
		}
		look := func(id string) string {
			e, err := s.Find(id)
			if err != nil {
				return "unknown"
			}
			if _, err := s.Outcome(e); err != nil {
				return "forgotten"
			}
			return "kept"
		}
		for i := range keptExecutions + 1 {
			run(i, 1)
		}
		run(100, keptBytes-10)
		run(101, 2*keptBytes)
		for id, want := range map[string]string{"e1": "unknown", "e3": "unknown", "e4": "forgotten", "e52": "forgotten", "e53": "kept"} {
			if got := look(id); got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
		run(102, 1)
		if got := look("e53") + " " + look("e54"); got != "forgotten kept" {
			t.Errorf("after a small one: %s", got)
		}
	})
}

// A report comes at most every ReportInterval, from the waiting and from the running call, and none after the end.
func TestShell_RunReports(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Shell, early chan string) {
		var reports []string
		clock := Clock{Reply: time.Hour, Report: func(running *Execution, mine bool) {
			reports = append(reports, fmt.Sprint(running.ID, mine))
		}}
		first, second := s.Reserve(), s.Reserve()
		go func() {
			_, _ = s.Run(t.Context(), first, working("a", sleep(600*time.Millisecond), Clock{Reply: time.Hour}, early))
		}()
		_, err := s.Run(t.Context(), second, working("b", sleep(400*time.Millisecond), clock, early))
		time.Sleep(time.Minute)
		if got := strings.Join(reports, " "); err != nil || got != "e1false e1false e2true" {
			t.Errorf("reports are %s, %v", got, err)
		}
	})
}

// The stack shows the user's frames alone, as Python orders them.
func TestUserFrames(t *testing.T) {
	const text = `Stack (most recent call first):
  File "Cell [2]", line 2 in outer
  File "/x/IPython/core/interactiveshell.py", line 3 in run_code
  File "/x/ipymcp/server.py", line 5 in serve
  File "<string>", line 1 in <module>
`
	for given, want := range map[string]string{
		text: `[  File "Cell [2]", line 2 in outer]`,
		"":   "[]",
		"Stack (most recent call first):\n  File \"b\", line 2 in g\n  File \"a\", line 1 in f\n  ...\n": `[  ...   File "a", line 1 in f   File "b", line 2 in g]`,
	} {
		if got := fmt.Sprint(userFrames(given)); got != want {
			t.Errorf("%q gives %s", given, got)
		}
	}
}

package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// initializeWith is initialize of a client with these capabilities.
func initializeWith(capabilities string) string {
	return strings.Replace(initialize, `"capabilities":{}`, `"capabilities":`+capabilities, 1)
}

// converseWith opens a session of such a client over a shell whose cells can ask.
func converseWith(t *testing.T, capabilities string) (*conn, *scriptedEngine) {
	t.Helper()
	engine := newScriptedEngine()
	c := connect(t, newServer(t, Options{Namespace: startShell(t, engine)}))
	if hello := decode(t, c.ask(initializeWith(capabilities))); hello.Error != nil {
		t.Fatalf("initialize: %+v", hello.Error)
	}
	c.send(initialized)
	return c, engine
}

func clientSays(id, member string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `",` + member + `}`
}

func accepted(value string) string { return `"result":{"action":"accept","content":` + value + `}` }

// told is what the code was told in the end.
func told(t *testing.T, line string) string {
	t.Helper()
	var value struct {
		Result struct {
			Answer struct{ Text, Refusal *string }
		}
	}
	if err := json.Unmarshal(decodeCall(t, line).Structured, &value); err != nil {
		t.Fatalf("%.300s: %v", line, err)
	}
	switch answer := value.Result.Answer; {
	case answer.Text != nil:
		return "text " + *answer.Text
	case answer.Refusal != nil:
		return *answer.Refusal
	}
	return "nothing"
}

func TestAsk_answers(t *testing.T) {
	for _, test := range []struct{ name, response, want string }{
		{"text", accepted(`{"value":"Zo\u00eb <\ud83d\ude00>"}`), "text Zoë <😀>"},
		{"lone surrogates", accepted(`{"value":"a\ud800b\udcaf"}`), `text a\ud800b\udcaf`},
		{"empty", accepted(`{"value":""}`), "text "},
		{"a line end", accepted(`{"value":"one\r\n"}`), "text one"},
		{"two lines", accepted(`{"value":"one\ntwo\n"}`), "text one\ntwo"},
		{"left empty", accepted(`{}`), "text "},
		{"no content", `"result":{"action":"accept"}`, "text "},
		{"more than asked for", accepted(`{"other":1,"value":"x"}`), "text x"},
		{"large", accepted(`{"value":"` + strings.Repeat("x", 1<<20) + `"}`), "text " + strings.Repeat("x", 1<<20)},
		{"declined", `"result":{"action":"decline"}`, "was declined by the user"},
		{"cancelled", `"result":{"action":"cancel","content":{"value":"x"}}`, "was cancelled by the user"},
		{"a number", accepted(`{"value":5}`), "got no answer: what the client says is no text"},
		{"null", accepted(`{"value":null}`), "got no answer: what the client says is no text"},
		{"an unknown action", `"result":{"action":"maybe"}`, "got no answer: what the client says does not have the form of the protocol"},
		{"no object", `"result":[]`, "got no answer: what the client says does not have the form of the protocol"},
		{"no action", `"result":{}`, "got no answer: what the client says does not have the form of the protocol"},
		{
			"error", `"error":{"code":-32601,"message":"no such method"}`,
			"got no answer: the client reports the error -32601: no such method",
		},
		{"a strange error", `"error":5`, "got no answer: the client reports the error "},
		{"null result", `"result":null`, "got no answer: what the client says does not have the form of the protocol"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := converseWith(t, `{"elicitation":{}}`)
			question := decode(t, c.ask(execute("1", "ask ?")))
			if question.Method != "elicitation/create" || string(question.ID) != `"ask-1"` {
				t.Fatalf("the question is %+v", question)
			}
			for _, nobodys := range []string{"ask-2", "1"} {
				c.send(clientSays(nobodys, accepted(`{"value":"wrong"}`)))
			}
			c.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"value":"wrong"}}}`)
			c.send(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"wrong"}}`)
			if pong := decode(t, c.ask(ping("2"))); string(pong.ID) != "2" {
				t.Errorf("while the question is open, ping got %+v", pong)
			}
			got := told(t, c.ask(clientSays("ask-1", test.response)))
			if got != test.want {
				t.Errorf("the code was told %.100q, want %.100q", got, test.want)
			}
			c.send(clientSays("ask-1", accepted(`{"value":"twice"}`)))
			if pong := decode(t, c.ask(ping("3"))); string(pong.ID) != "3" {
				t.Errorf("a second response got %+v", pong)
			}
		})
	}
}

func TestAsk_form(t *testing.T) {
	long := strings.Repeat("x", maxFieldTitleChars+1)
	for _, test := range []struct{ code, message, title string }{
		{"ask Name:", "Name:", "Name:"},
		{"ask  ", "The running code asks for a line of input.", "Input"},
		{"ask one\ntwo <b>?", "one\ntwo <b>?", "two <b>?"},
		{"ask " + long[:90] + "\n" + long[:9], long[:90] + "\n" + long[:9], long[:9]},
	} {
		c, _ := converseWith(t, `{"elicitation":{"form":{},"url":{}}}`)
		var params struct {
			Message         string
			RequestedSchema json.RawMessage
		}
		if err := json.Unmarshal(decode(t, c.ask(execute("1", test.code))).Params, &params); err != nil {
			t.Fatal(err)
		}
		title, _ := json.Marshal(test.title)
		title = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(title)))
		want := `{"properties":{"value":{"title":` + string(title) + `,"type":"string"}},"required":["value"],"type":"object"}`
		if params.Message != test.message || string(params.RequestedSchema) != want {
			t.Errorf("%.20s: the form is %q, %s; want %s", test.code, params.Message, params.RequestedSchema, want)
		}
	}
}

// Only a client that shows forms is asked: in the handshake's revisions by what it said there, in those without one by what the request says.
func TestAsk_who(t *testing.T) {
	for capabilities, can := range map[string]bool{
		`{}`: false, `{"elicitation":{}}`: true, `{"elicitation":{"form":{}}}`: true, `{"elicitation":{"url":{}}}`: false,
		`{"elicitation":{"form":{},"url":{}}}`: true, `{"sampling":{}}`: false,
	} {
		c, engine := converseWith(t, capabilities)
		c.ask(execute("1", "legacy"))
		c.ask(strings.Replace(modern(execute("2", "an old revision")), "2026-07-28", "2025-11-25", 1))
		c.ask(modern(execute("3", "modern")))
		c.ask(strings.Replace(modern(execute("4", "modern")), `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1))
		if want := []bool{can, can, false, can}; !slices.Equal(engine.canAsk, want) {
			t.Errorf("%s: the requests said %v", capabilities, engine.canAsk)
		}
	}
}

// A question of a call that is cancelled is cancelled as well; a late answer goes nowhere.
func TestAsk_cancelled(t *testing.T) {
	c, _ := converseWith(t, `{"elicitation":{}}`)
	for _, id := range []string{"ask-1", "ask-2"} {
		if question := decode(t, c.ask(execute(`"x"`, "ask ?"))); string(question.ID) != `"`+id+`"` {
			t.Fatalf("the question is %+v", question)
		}
		cancelled := decode(t, c.ask(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`))
		if cancelled.Method != "notifications/cancelled" || !strings.Contains(string(cancelled.Params), `"requestId":"`+id+`"`) {
			t.Fatalf("the client is told %+v", cancelled)
		}
		c.send(clientSays(id, accepted(`{"value":"late"}`)))
	}
	if got := told(t, func() string {
		c.ask(execute("3", "ask ?"))
		return c.ask(clientSays("ask-3", accepted(`{"value":"right"}`)))
	}()); got != "text right" {
		t.Errorf("the next question got %q", got)
	}
}

// The end of the input is the end of every question, and a question that comes later has no answer.
func TestAsk_disconnected(t *testing.T) {
	c, engine := converseWith(t, `{"elicitation":{}}`)
	c.ask(execute("1", "ask ?"))
	c.send(execute("2", "ask again"))
	rest, err := c.end()
	if err != nil || len(rest) != 2 {
		t.Fatalf("%q, %v", rest, err)
	}
	for _, line := range rest {
		if got := told(t, line); got != errDisconnected.Error() {
			t.Errorf("the code was told %q", got)
		}
	}
	if ran := engine.order(); len(ran) != 2 {
		t.Errorf("%q ran", ran)
	}
}

package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func listen(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{` +
		`"notifications":{"toolsListChanged":true},` + modernMeta + `}}`
}

const toolsChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// A thousand changes are a few notifications, the last of them after the last change, for the clients that are there
// to hear it: not for one that has not finished its handshake, or only asked server/discover.
func TestSession_changesCoalesce(t *testing.T) {
	s := newServer(t, Options{})
	ready, early, modern := connect(t, s), connect(t, s), connect(t, s)
	ready.ask(initialize)
	ready.send(initialized)
	ready.ask(ping("1"))
	early.ask(initialize)
	modern.ask(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`)
	modern.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}`)
	for range 500 {
		register(t, s, "f")
		unregister(t, s, "f")
	}
	if got := ready.next(); got != toolsChanged {
		t.Errorf("after 1000 changes came %s", got)
	}
	rest, err := ready.end()
	if len(rest) > 100 || err != nil {
		t.Errorf("%d notifications for 1000 changes, %v", len(rest)+1, err)
	}
	for name, c := range map[string]*conn{"early": early, "modern": modern} {
		if rest, err := c.end(); len(rest) > 0 || err != nil {
			t.Errorf("the %s client heard of the changes: %q, %v", name, rest, err)
		}
	}
}

// A client that forgets notifications/initialized, but lists the tools, has finished its handshake.
func TestSession_handshakeWithoutNotification(t *testing.T) {
	s := newServer(t, Options{})
	c := connect(t, s)
	c.send(initialized) // too early: counts for nothing
	c.ask(initialize)
	c.ask(ping("1"))
	register(t, s, "f")
	if got := toolNames(t, c); len(got) != len(stableNames)+1 {
		t.Errorf("tools/list: %v", got)
	}
	register(t, s, "g")
	if got := c.next(); got != toolsChanged {
		t.Errorf("after the change came %s", got)
	}
}

// A subscription is acknowledged first, hears of changes under its own id, parks without disturbing calls, and ends
// silently when it is cancelled or with an answer at the end of the input.
func TestSession_subscriptions(t *testing.T) {
	s := newServer(t, Options{})
	c := connect(t, s)
	for _, id := range []string{"9007199254740993", `"second"`} {
		ack := decode(t, c.ask(listen(id)))
		if ack.Method != "notifications/subscriptions/acknowledged" ||
			!strings.Contains(string(ack.Params), `"toolsListChanged":true`) ||
			!strings.Contains(string(ack.Params), `subscriptionId":`+id) {
			t.Fatalf("the subscription %s was acknowledged with %s %s", id, ack.Method, ack.Params)
		}
	}
	// A subscription is on the books just behind its acknowledgement; a change before that is not heard of.
	heard := ""
	for i := 0; !strings.Contains(heard, `subscriptionId":"second"`) ||
		!strings.Contains(heard, `subscriptionId":9007199254740993`); i++ {
		name := "f" + strconv.Itoa(i)
		register(t, s, name)
		if _, err := s.unregisterTool(t.Context(), nil, []string{name}); err != nil { // there is room for only so many
			t.Fatal(err)
		}
		heard += c.ask(ping("2"))
	}
	c.send(cancelled(`"second"`))
	rest, err := c.end()
	if err != nil {
		t.Fatal(err)
	}
	closed := strings.Join(rest, "\n")
	if strings.Contains(closed, `"id":"second"`) || !strings.Contains(closed, `"id":9007199254740993,"result"`) {
		t.Errorf("at the end came %s", closed)
	}
}

// Progress goes to the client in order and before the answer, under the token as it was sent; without a token, or
// after the answer, nothing is sent.
func TestProgress(t *testing.T) {
	late := make(chan context.Context, 1)
	namespace := newFakeNamespace()
	namespace.run = func(ctx context.Context) {
		for i := range 200 {
			Progress(ctx, float64(i), "<working>")
		}
		late <- ctx
	}
	c := connect(t, newServer(t, Options{Namespace: namespace}))
	for _, token := range []string{"9007199254740993", `"t<1>"`} {
		c.send(strings.Replace(execute("1", "cell"), `"name"`, `"_meta":{"progressToken":`+token+`},"name"`, 1))
		for i := range 200 {
			want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":`+
				`{"progressToken":%s,"progress":%d,"message":"<working>"}}`, token, i)
			if got := c.next(); got != want {
				t.Fatalf("progress %d: %s, want %s", i, got, want)
			}
		}
		if got := decode(t, c.next()); string(got.ID) != "1" {
			t.Errorf("after the progress came %+v", got)
		}
		Progress(<-late, 201, "late")
	}
	if got := decode(t, c.ask(execute("2", "cell"))); string(got.ID) != "2" {
		t.Errorf("without a token came %+v", got)
	}
	Progress(context.Background(), 1, "nobody's")
	if rest, err := c.end(); len(rest) > 0 || err != nil {
		t.Errorf("at the end came %q, %v", rest, err)
	}
}

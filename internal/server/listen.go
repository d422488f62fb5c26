package server

import (
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// peer is what mcp-go sees of the session while it answers one request, an mcp-go ClientSession. It is not registered
// with the MCPServer, whose broadcast of tools/list_changed sends one per change, drops some, and asks nobody whether
// they are wanted; notify does it instead.
type peer struct {
	session *session
	call    *call // of tools/call
	// notices is nil but for subscriptions/listen, the only request in which mcp-go notifies.
	notices chan mcp.JSONRPCNotification
}

// SessionID implements ClientSession.
func (p peer) SessionID() string { return p.session.id }

// Initialize implements ClientSession. The session follows the handshake itself.
func (p peer) Initialize() {}

// Initialized implements ClientSession.
func (p peer) Initialized() bool { return true }

// NotificationChannel implements ClientSession.
func (p peer) NotificationChannel() chan<- mcp.JSONRPCNotification { return p.notices }

// serveListen answers subscriptions/listen, when the client cancels it or the input ends. What mcp-go notifies comes
// before the answer.
func (r *request) serveListen() {
	notices := make(chan mcp.JSONRPCNotification, 1)
	var relaying sync.WaitGroup
	relaying.Go(func() {
		for n := range notices {
			r.relay(n)
		}
	})
	line, err := func() ([]byte, error) {
		defer relaying.Wait()
		defer close(notices)
		line, _, err := r.handleMessage(peer{session: r.session, notices: notices})
		return line, err
	}()
	r.answer(line, err)
}

// relay writes the notification that opens a subscription. It carries the id under which mcp-go knows the request and
// gets the client's own. Only then does the subscription hear of changes, because the protocol wants this message to
// be its first.
func (r *request) relay(n mcp.JSONRPCNotification) {
	if n.Params.Meta[mcp.MetaKeySubscriptionID] != nil {
		n.Params.Meta[mcp.MetaKeySubscriptionID] = r.id
	}
	r.session.send(n.Method, n.Params)
	allowed, _ := n.Params.AdditionalFields["notifications"].(mcp.SubscriptionFilter)
	if allowed.ToolsListChanged {
		r.session.subscribe(r)
	}
}

// subscribe has a request that is still open hear of changes of the tools.
func (s *session) subscribe(r *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inflight[r.key] == r {
		s.listeners[r.key] = json.RawMessage(r.id)
	}
}

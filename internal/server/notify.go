package server

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// settleTime is how long changes of the tools are collected before clients hear of them, so that a burst is one
// notification.
const settleTime = 10 * time.Millisecond

// toolsChanged makes a tools/list_changed due. Changes that come before it is written share it.
func (s *session) toolsChanged() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// notify writes what the server says by itself, until the session ends. Progress is not among it: that is written by
// its call.
func (s *session) notify() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.changed:
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(settleTime):
		}
		select {
		case <-s.changed:
		default:
		}
		s.announceTools()
	}
}

// announceTools tells a client of the legacy era, once its handshake is finished, and every subscription of the
// modern one.
func (s *session) announceTools() {
	s.mu.Lock()
	ready := s.ready
	subscriptions := make([]json.RawMessage, 0, len(s.listeners))
	for _, id := range s.listeners {
		subscriptions = append(subscriptions, id)
	}
	s.mu.Unlock()
	if ready {
		s.send(string(mcp.MethodNotificationToolsListChanged), nil)
	}
	slices.SortFunc(subscriptions, func(a, b json.RawMessage) int { return slices.Compare(a, b) })
	for _, id := range subscriptions {
		meta := map[string]json.RawMessage{mcp.MetaKeySubscriptionID: id}
		s.send(string(mcp.MethodNotificationToolsListChanged), map[string]any{"_meta": meta})
	}
}

func (s *session) send(method string, params any) {
	line, err := notificationMessage(method, params)
	if err != nil {
		s.server.log.Error("cannot send a notification", "method", method, "error", err)
		return
	}
	s.out.send(line)
}

// Progress tells the client how far the tool call is that ctx belongs to, if the client asked for it. The
// notification is on the wire when Progress returns; after the call's answer, or without a progress token, nothing is
// sent. The values of one call must grow.
func Progress(ctx context.Context, progress float64, message string) {
	r := requestFrom(ctx)
	if r == nil || r.call == nil || r.call.progressToken == nil {
		return
	}
	r.sending.Lock()
	defer r.sending.Unlock()
	if r.session.holds(r) {
		r.session.send("notifications/progress", struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress float64         `json:"progress"`
			Message  string          `json:"message,omitempty"`
		}{r.call.progressToken, progress, message})
	}
}

package server

import (
	"encoding/json"
	"fmt"
	"sync"

	"ipython-mcp/dyntools"
)

// watcher keeps the registry of dynamic tools and the namespace in step: the namespace calls it in the turn of every
// operation. It is a shell.Watcher.
type watcher struct {
	server *Server

	mu     sync.Mutex
	view   *dyntools.View  // what tokens was made of
	tokens json.RawMessage // nil: there are no live registrations
}

// Watched returns the tokens of the live registrations, encoded once for each state of the registry.
func (w *watcher) Watched() json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	if view := w.server.registry.View(); view != w.view {
		w.view, w.tokens = view, nil
		if tokens := view.Tokens(); len(tokens) > 0 {
			// Encoding strings cannot fail.
			w.tokens, _ = json.Marshal(tokens)
		}
	}
	return w.tokens
}

// Reconcile makes registrations stale whose names are bound to something with another schema, or to nothing.
func (w *watcher) Reconcile(bindings json.RawMessage) error {
	var now []dyntools.Binding
	if err := json.Unmarshal(bindings, &now); err != nil {
		return fmt.Errorf("reading what the registered names are bound to: %w", err)
	}
	if w.server.registry.Reconcile(now) {
		w.server.announce()
	}
	return nil
}

// Cleared removes all registrations.
func (w *watcher) Cleared() {
	if w.server.registry.Reset() {
		w.server.announce()
	}
}

package dyntools

// Reconcile compares the registrations with what their symbols are bound to after an operation and says whether
// the advertised list changed. Symbols that are not mentioned, or said to be "same", are as they were; those
// without a live registration are ignored. Where nothing is mentioned it costs nothing.
func (r *Registry) Reconcile(now []Binding) (listChanged bool) {
	if len(now) == 0 {
		return false
	}
	r.change.Lock()
	defer r.change.Unlock()
	v := r.View()
	var d *draft
	for _, binding := range now {
		before, ok := v.bySymbol[binding.Symbol]
		if !ok || before.State != Live {
			continue
		}
		after := r.reconciled(before, binding)
		if after == before {
			continue
		}
		if d == nil {
			d = v.draft()
		}
		d.put(after)
		listChanged = listChanged || after.State == Stale
	}
	if d != nil {
		r.view.Store(v.next(d, listChanged))
	}
	return listChanged
}

// reconciled returns the registration that follows a live one: itself, the same with a new token, or a stale one.
func (r *Registry) reconciled(before *Registration, now Binding) *Registration {
	if now.State == BoundSame || sameToken(before, now) {
		return before
	}
	after := *before
	callable, err := bound(before.Symbol, now)
	if err == nil {
		var schema *Schema
		schema, err = NewSchema(callable, r.options.DescriptionChars)
		if err == nil && schema.Fingerprint == before.Schema.Fingerprint {
			after.Token = callable.Token
			return &after
		}
	}
	after.State = Stale
	after.Reason = "the signature of " + quoted(before.Symbol) + " changed"
	if err != nil {
		after.Reason = err.Error()
	}
	return &after
}

// sameToken says whether a described callable needs no second look. A missing token equals none.
func sameToken(before *Registration, now Binding) bool {
	if now.State != BoundCallable || now.Callable == nil || now.Callable.Token == "" {
		return false
	}
	return now.Callable.Token == before.Token
}

package envprov

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	values := func(list ...string) map[string]string {
		all := map[string]string{}
		for i, value := range list {
			all[string(rune('A'+i))] = value
		}
		return all
	}
	tests := []struct {
		name       string
		values     map[string]string
		environ    []string
		text, want string
	}{
		{"plain", values("hunter2"), nil, "it is hunter2.", "it is ***."},
		{"regular expression", values(`a.*+(b|[c]\d$`), nil, `x a.*+(b|[c]\d$ axxb`, `x *** axxb`},
		{"part of another", values("secret", "secret-long", "long"), nil, "secret-long secret long", "*** *** ***"},
		{"overlapping mask", values("***", "*"), nil, "a *** b * c", "a *** b * c"},
		{
			"single character in words", values("e"), nil, "the environment cannot be made: e",
			"the environment cannot be made: e",
		},
		{"single character quoted", values("e"), nil, `value 'e' and KEY=e`, `value '***' and KEY=***`},
		{"short only alone", values("on"), nil, "on the conclusion, on=on", "*** the conclusion, ***=***"},
		{"empty and blank", values("", "  "), nil, "a  b", "a  b"},
		{"several lines", values("first line\nsecond line"), nil, "> second line", "> ***"},
		{"percent-encoded", values("p@ss w"), nil, "?x=p%40ss+w and p@ss%20w", "?x=*** and ***"},
		{
			"user-info", nil, nil, "https://me:pw@host/x https://tok@host git+ssh://git@host",
			"https://***@host/x https://***@host git+ssh://***@host",
		},
		{"user-info with at", nil, nil, "https://me@corp:p@w@host/simple", "https://***@host/simple"},
		{"no user-info", nil, nil, "https://host/a@b and a@b.c", "https://host/a@b and a@b.c"},
		{
			"query", nil, nil, "https://h/x?a=1&access_token=abc&b=2 sig=zz",
			"https://h/x?a=1&access_token=***&b=2 sig=***",
		},
		{"header", nil, nil, "Authorization: Basic dXNlcjpwdw==", "Authorization: Basic ***"},
		{"known tokens", nil, nil, "pypi-AgEIcHlwaS5vcmcCJDU3 ghp_0123456789abcdefghijABCDEFGHIJ", "*** ***"},
		{"index credential", nil, []string{"UV_INDEX_CORP_PASSWORD=opensesame"}, "sent opensesame", "sent ***"},
		{
			"index URL", nil,
			[]string{"UV_DEFAULT_INDEX=https://u:sw0rd%21fish@h/simple"},
			"pw sw0rd%21fish or sw0rd!fish", "pw *** or ***",
		},
		{"other variables", nil, []string{"EDITOR=vi-improved"}, "vi-improved", "vi-improved"},
		{"words stay", nil, nil, "tokenizer: fine; password required", "tokenizer: fine; password required"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := NewRedactor(test.values, test.environ).Redact(test.text); got != test.want {
				t.Errorf("%q became %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestRedactor_WithURLs(t *testing.T) {
	r := NewRedactor(nil, nil).WithURLs("six @ https://user:s3cr3t@host/six.whl")
	if got := r.Redact("401 for s3cr3t"); strings.Contains(got, "s3cr3t") {
		t.Error(got)
	}
}

func TestShown(t *testing.T) {
	r := NewRedactor(map[string]string{"A": "secret"}, nil)
	tests := [][3]string{
		{varEnvironment, `{"B": "x", "A": "secret"}`, `{"A": "***", "B": "***"}`},
		{varEnvironment, `{"A": "secret`, "***"},
		{VarPython, "/opt/secret/python", "/opt/***/python"},
	}
	for _, test := range tests {
		if got := Shown(test[0], test[1], r); got != test[2] {
			t.Errorf("%s shows as %s, want %s", test[1], got, test[2])
		}
	}
}

// FuzzRedact checks that a long value never survives, whatever stands around it and whatever the other value is.
func FuzzRedact(f *testing.F) {
	f.Add("before ", "secret value", "after", "cret")
	f.Add("https://", "a.b*c", "@host", "b*")
	f.Fuzz(func(t *testing.T, before, value, after, other string) {
		if len([]rune(value)) < shortValue || strings.ContainsAny(value, "*\n") || strings.TrimSpace(value) == "" ||
			strings.Contains(other, "*") || strings.Contains(mask+before+mask+after+mask, value) {
			return // too short, or found by chance in what is around it
		}
		got := NewRedactor(map[string]string{"A": value, "B": other}, nil).Redact(before + "\x00" + value + "\x00" +
			after)
		if strings.Contains(got, value) {
			t.Errorf("%q is in %q", value, got)
		}
	})
}

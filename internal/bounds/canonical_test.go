package bounds

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"null", nil, `null`},
		{
			"compact and sorted", json.RawMessage(" { \"b\" : [ 1 , true ] ,\n\"a\" : null } "),
			`{"a":null,"b":[1,true]}`,
		},
		{"nested keys", json.RawMessage(`[{"b":{"z":1,"y":2},"a":0}]`), `[{"a":0,"b":{"y":2,"z":1}}]`},
		{
			"keys by code point", json.RawMessage(`{"\ud83d\ude00":1,"\uffee":2,"a":3,"Z":4}`),
			`{"Z":4,"a":3,"￮":2,"😀":1}`,
		},
		{
			"numbers", json.RawMessage(`[1.0,1e5,-0,123456789012345678901234567890,1E+2]`),
			`[1.0,1e5,-0,123456789012345678901234567890,1E+2]`,
		},
		{"characters", json.RawMessage(`"<a&b>\u2028\u2029é\/"`), "\"<a&b>\u2028\u2029é/\""},
		{
			"escapes", json.RawMessage(`"\u0000\b\t\n\u000b\f\r\u001f\"\\\u007f"`),
			`"\u0000\b\t\n\u000b\f\r\u001f\"\\` + "\x7f\"",
		},
		{"lone surrogate", json.RawMessage(`"\ud800"`), "\"\ufffd\""},
		{"duplicate key", json.RawMessage(`{"a":1,"a":2}`), `{"a":2}`},
		{"empty", json.RawMessage(`{"a":{},"b":[],"c":""}`), `{"a":{},"b":[],"c":""}`},
		{"Go value", map[string]any{"b": []int{1}, "a": "<é>"}, `{"a":"<é>","b":[1]}`},
		{"Go struct", struct {
			B string `json:"b"`
			A int    `json:"a,omitempty"`
		}{B: "x"}, `{"b":"x"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := CanonicalJSON(test.value)
			if err != nil || string(got) != test.want {
				t.Errorf("got %s and %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestCanonicalJSON_errors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  string
	}{
		{json.RawMessage(nil), "there is no value"},
		{json.RawMessage(" "), "there is no value"},
		{json.RawMessage(`{"a":1`), "unexpected EOF"},
		{json.RawMessage(`1 2`), "more than the value that ends at byte 1"},
		{json.RawMessage(`[1]]`), "more than the value that ends at byte 3"},
		{json.RawMessage(`NaN`), "invalid character"},
		{json.RawMessage(strings.Repeat("[", 100_000)), "depth"},
		{math.Inf(1), "cannot encode a float64"},
		{func() {}, "cannot encode a func()"},
	}
	for _, test := range tests {
		if got, err := CanonicalJSON(test.value); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.20v: %s and %v, want an error with %q", test.value, got, err, test.want)
		}
	}
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1.50,"\u2028<"],"a":{"\u0001":null}}`, `"\ud83d\ude00"`, `-0.0e-1`, `{"a":1,"a":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := CanonicalJSON(json.RawMessage(raw))
		if (err == nil) != json.Valid(raw) {
			t.Fatalf("%q: error %v, valid %t", raw, err, json.Valid(raw))
		}
		if err != nil {
			return
		}
		twice, err := CanonicalJSON(json.RawMessage(once))
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q becomes %q, and that %q and %v", raw, once, twice, err)
		}
		var want, got any
		if err := json.Unmarshal(raw, &want); err != nil {
			return // a number that is too large for the comparison
		}
		if err := json.Unmarshal(once, &got); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q becomes another value: %q", raw, once)
		}
	})
}

package dyntools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// schemaOf makes a schema of required parameters written as "name" or "name?" with the JSON of their types.
func schemaOf(t testing.TB, namesAndTypes ...string) *Schema {
	t.Helper()
	s, err := NewSchema(callableOf(t, namesAndTypes...), goldenChars)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// callableOf makes a plain callable; a name that ends in ? has the default null.
func callableOf(t testing.TB, namesAndTypes ...string) *Callable {
	t.Helper()
	c := &Callable{Kind: "plain", Token: "t"}
	for i := 0; i < len(namesAndTypes); i += 2 {
		p := Parameter{Kind: "keyword_only", Annotation: new(Type)}
		if err := json.Unmarshal([]byte(namesAndTypes[i+1]), p.Annotation); err != nil {
			t.Fatal(err)
		}
		name, optional := strings.CutSuffix(namesAndTypes[i], "?")
		p.Name = name
		if optional {
			p.Default = json.RawMessage("null")
		}
		c.Parameters = append(c.Parameters, p)
	}
	return c
}

const (
	intType   = `{"kind":"int"}`
	strType   = `{"kind":"str"}`
	floatType = `{"kind":"float"}`
	intSet    = `{"kind":"set","of":{"kind":"int"}}`
	pairType  = `{"kind":"tuple","items":[{"kind":"int"},{"kind":"str"}]}`
	optInt    = `{"kind":"union","items":[{"kind":"int"},{"kind":"none"}]}`
	anySet    = `{"kind":"union","items":[{"kind":"dict","of":{"kind":"int"}},{"kind":"list","of":{"kind":"str"}},` +
		intSet + `]}`
	choiceType = `{"kind":"literal","values":["a",1,true]}`
	listsType  = `{"kind":"union","items":[{"kind":"list","of":{"kind":"int"}},{"kind":"none"}]}`
	twoLists   = `{"kind":"union","items":[{"kind":"list","of":{"kind":"int"}},{"kind":"list","of":{"kind":"str"}}]}`
)

func TestSchema_Validate(t *testing.T) {
	digits := "1" + strings.Repeat("0", 400)
	for _, c := range []struct {
		name, typ, arguments string
		want                 string // problems as "path: message", joined by "; "; empty: valid
	}{
		{"int", intType, `{"x":1}`, ""},
		{"integral float is an int", intType, `{"x":1.0}`, ""},
		{"integral exponent is an int", intType, `{"x":1e2}`, ""},
		{"exact beyond float", intType, `{"x":1208925819614629174706177}`, ""},
		{"400 digits", intType, `{"x":` + digits + `}`, ""},
		{"bool is no int", intType, `{"x":true}`, "/x: expected integer, got boolean true"},
		{"bool is no float", floatType, `{"x":false}`, "/x: expected number, got boolean false"},
		{"int is a float", floatType, `{"x":3}`, ""},
		{"fraction is no int", intType, `{"x":1.5}`, "/x: expected integer, got number 1.5"},
		{
			"fraction is not rounded", intType, `{"x":12345678901234567890.5}`,
			"/x: expected integer, got number 12345678901234567890.5",
		},
		{"text", intType, `{"x":"1"}`, `/x: expected integer, got string "1"`},
		{"null", intType, `{"x":null}`, "/x: expected integer, got null"},
		{"object", intType, `{"x":{}}`, "/x: expected integer, got object"},
		{"missing", intType, `{}`, "/x: required, but missing"},
		{"nothing", intType, ``, "/x: required, but missing"},
		{"null arguments", intType, ` null `, "/x: required, but missing"},
		{"unexpected", intType, `{"x":1,"y":2,"a/b~":3}`, "/a~1b~0: unexpected name; /y: unexpected name"},
		{"misspelt", intType, `{"X":1}`, "/X: unexpected name; /x: required, but missing"},
		{"no object", intType, `[1]`, "/: expected object, got array of 1 items"},
		{"no JSON", intType, `{"x":`, "/: not JSON: unexpected EOF"},
		{"more JSON", intType, `{"x":1} {}`, "/: not JSON: more text after the JSON value"},
		{"set", intSet, `{"x":[1,2]}`, ""},
		{"set item", intSet, `{"x":["a",2]}`, `/x/0: expected integer, got string "a"`},
		{"set twice", intSet, `{"x":[2,1,2]}`, "/x: items 0 and 2 are equal, but each may occur once"},
		{"set one is not true", intSet, `{"x":[1,true]}`, "/x/1: expected integer, got boolean true"},
		{"tuple", pairType, `{"x":[1,"a"]}`, ""},
		{"short tuple", pairType, `{"x":[1]}`, "/x: expected exactly 2 items, got 1"},
		{"long tuple", pairType, `{"x":[1,"a",2]}`, "/x: expected exactly 2 items, got 3"},
		{"union", optInt, `{"x":null}`, ""},
		{"union misfit", optInt, `{"x":"a"}`, `/x: expected integer or null, got string "a"`},
		{"union, one kind twice", anySet, `{"x":1}`, "/x: expected array or object, got number 1"},
		{"union, the near branch", listsType, `{"x":[1,"a"]}`, `/x/1: expected integer, got string "a"`},
		{"union, no near branch", listsType, `{"x":"a"}`, `/x: expected array or null, got string "a"`},
		{
			"union, two near branches", twoLists, `{"x":[1,"a"]}`,
			`/x: fits none of the alternatives: /x/0 expected string, got number 1; or /x/1 expected integer, got string "a"`,
		},
		{"literal", choiceType, `{"x":true}`, ""},
		{"literal misfit", choiceType, `{"x":false}`, `/x: expected one of "a", 1, true, got boolean false`},
		{
			"huge exponent", floatType, `{"x":1e999999999}`,
			"/x: number 1e999999999 is out of range: write an exponent that a float can hold",
		},
		{
			"tiny exponent", intSet, `{"x":[1e-999999]}`,
			"/x/0: number 1e-999999 is out of range: write an exponent that a float can hold",
		},
		{"no float", floatType, `{"x":1e309}`, "/x: number 1e309 is too large for a float: write an integer in full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent, err := schemaOf(t, "x", c.typ).Validate(json.RawMessage(c.arguments))
			if c.want == "" {
				if err != nil || string(sent) != c.arguments {
					t.Fatalf("Validate = %s, %v; want the arguments", sent, err)
				}
				return
			}
			var refused *Error
			if !errors.As(err, &refused) || refused.Code != InvalidArguments || len(refused.Problems) == 0 {
				t.Fatalf("Validate = %s, %v; want invalid_arguments", sent, err)
			}
			if want := "the arguments do not fit the schema: " + c.want; err.Error() != want {
				t.Errorf("Validate:\n got %s\nwant %s", err, want)
			}
		})
	}
}

func TestSchema_Validate_nothingIsAnEmptyObject(t *testing.T) {
	for _, arguments := range []string{"", "null", "{}", "\n"} {
		if sent, err := schemaOf(t).Validate(json.RawMessage(arguments)); err != nil || string(sent) != "{}" {
			t.Errorf("Validate(%q) = %s, %v", arguments, sent, err)
		}
	}
}

// TestSchema_Validate_bounded: however much is wrong, the answer is short, sorted and always the same.
func TestSchema_Validate_bounded(t *testing.T) {
	s := schemaOf(t, "x", `{"kind":"dict","of":{"kind":"int"}}`)
	var b strings.Builder
	fmt.Fprintf(&b, `{"%s":1,"x":{`, strings.Repeat("long", 1000))
	for i := range 1000 {
		fmt.Fprintf(&b, `"%s%d":"%s",`, strings.Repeat("k", 1+i%700), i, strings.Repeat("é", 500))
	}
	b.WriteString(`"z":"z"}}`)
	arguments := json.RawMessage(b.String())
	_, first := s.Validate(arguments)
	if n := utf8.RuneCountInString(first.Error()); n > maxProblems*(pathChars+problemChars+4)+100 {
		t.Errorf("message of %d characters", n)
	}
	if !strings.HasSuffix(first.Error(), " more") || strings.ContainsRune(first.Error(), utf8.RuneError) {
		t.Errorf("message does not count the rest, or is cut inside a character: %s", first)
	}
	for range 5 {
		if _, again := s.Validate(arguments); again.Error() != first.Error() {
			t.Fatalf("message differs:\n%s\n%s", first, again)
		}
	}
}

func TestValidator_loadsNothing(t *testing.T) {
	for _, ref := range []string{"file:///etc/hostname", "https://example.com/schema.json", "other.json"} {
		if _, err := newValidator(json.RawMessage(`{"$ref":"` + ref + `"}`)); err == nil {
			t.Errorf("a schema that refers to %s compiles", ref)
		}
	}
}

func BenchmarkSchema_Validate(b *testing.B) {
	s := schemaOf(b, "x", intType, "y", strType, "z?", optInt)
	arguments := json.RawMessage(`{"x":1,"y":"text"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Validate(arguments); err != nil {
			b.Fatal(err)
		}
	}
}

package dyntools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// randomType returns a type and a value that fits it.
func randomType(rng *rand.Rand, depth int) (*Type, any) {
	kinds := 6
	if depth > 0 {
		kinds = 12
	}
	switch rng.IntN(kinds) {
	case 0:
		return &Type{Kind: "int"}, rng.IntN(1000)
	case 1:
		return &Type{Kind: "str"}, fmt.Sprintf("é<%d>", rng.IntN(9))
	case 2:
		return &Type{Kind: "float"}, rng.Float64()
	case 3:
		return &Type{Kind: "bool"}, rng.IntN(2) == 0
	case 4:
		return &Type{Kind: "none"}, nil
	case 5:
		return &Type{Kind: "literal", Values: []json.RawMessage{json.RawMessage("1"), json.RawMessage(`"b"`)}}, "b"
	case 6:
		of, value := randomType(rng, depth-1)
		return &Type{Kind: "dict", Of: of}, map[string]any{"k": value}
	case 7:
		first, a := randomType(rng, depth-1)
		second, b := randomType(rng, depth-1)
		return &Type{Kind: "tuple", Items: []*Type{first, second}}, []any{a, b}
	case 8, 9:
		first, a := randomType(rng, depth-1)
		second, _ := randomType(rng, depth-1)
		return &Type{Kind: "union", Items: []*Type{first, second, {Kind: "none"}}}, a
	case 10:
		of, value := randomType(rng, depth-1)
		fields := []Field{{Name: "a", Annotation: of, Required: true}}
		return &Type{Kind: "dataclass", Name: "D", Fields: fields}, map[string]any{"a": value}
	}
	of, value := randomType(rng, depth-1)
	kinds3 := []string{"list", "set", "frozenset", "tuple_of"}
	return &Type{Kind: kinds3[rng.IntN(len(kinds3))], Of: of}, []any{value}
}

// permuted copies a type with the members of each union in another order, sometimes in a union of their own,
// sometimes twice.
func permuted(rng *rand.Rand, t *Type) *Type {
	if t == nil {
		return nil
	}
	c := *t
	c.Of = permuted(rng, t.Of)
	c.Items, c.Fields = nil, nil
	for _, item := range t.Items {
		c.Items = append(c.Items, permuted(rng, item))
	}
	for _, f := range t.Fields {
		f.Annotation = permuted(rng, f.Annotation)
		c.Fields = append(c.Fields, f)
	}
	if t.Kind == "union" {
		rng.Shuffle(len(c.Items), func(i, j int) { c.Items[i], c.Items[j] = c.Items[j], c.Items[i] })
		c.Items = []*Type{{Kind: "union", Items: c.Items[1:]}, c.Items[0], c.Items[0]}
	}
	return &c
}

func mustSchema(t *testing.T, parameters ...Parameter) *Schema {
	t.Helper()
	s, err := NewSchema(&Callable{Kind: "plain", Parameters: parameters}, goldenChars)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parsed(t *testing.T, raw []byte) any {
	t.Helper()
	v, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestProperties checks on random types: permuted unions have the same schema and fingerprint, every default fits
// its own schema, and over all pairs the schemas are equal exactly where the fingerprints are.
func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	byFingerprint := make(map[string]any)
	byForm := make(map[string]string)
	for range 500 {
		typ, value := randomType(rng, 3)
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		s := mustSchema(t, Parameter{Name: "x", Kind: "keyword_only", Annotation: typ, Default: raw})
		other := mustSchema(t, Parameter{Name: "x", Kind: "keyword_only", Annotation: permuted(rng, typ), Default: raw})
		if s.Fingerprint != other.Fingerprint || !bytes.Equal(s.Input, other.Input) {
			t.Fatalf("permuted unions differ:\n%s\n%s", s.Input, other.Input)
		}
		if _, err := s.Validate(json.RawMessage(fmt.Sprintf(`{"x":%s}`, raw))); err != nil {
			t.Fatalf("default %s does not fit %s: %v", raw, s.Input, err)
		}
		schema := parsed(t, s.Input)
		if before, ok := byFingerprint[s.Fingerprint]; ok && !reflect.DeepEqual(before, schema) {
			t.Fatalf("one fingerprint for two schemas: %v and %s", before, s.Input)
		}
		byFingerprint[s.Fingerprint] = schema
		form, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := byForm[string(form)]; ok && before != s.Fingerprint {
			t.Fatalf("two fingerprints for %s", s.Input)
		}
		byForm[string(form)] = s.Fingerprint
	}
	if len(byFingerprint) < 200 {
		t.Errorf("only %d different schemas were tried", len(byFingerprint))
	}
}

// TestNewSchema_bounds: one more than a limit is refused with a message of its own, and quickly.
func TestNewSchema_bounds(t *testing.T) {
	deep := &Type{Kind: "int"}
	for range MaxTypeDepth + 1 {
		deep = &Type{Kind: "list", Of: deep}
	}
	long, err := json.Marshal(string(bytes.Repeat([]byte("a"), 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	many := make([]Parameter, 5000)
	for i := range many {
		many[i] = Parameter{Name: fmt.Sprintf("p%d", i), Kind: "keyword_only", Annotation: &Type{Kind: "int"}}
	}
	for name, parameters := range map[string][]Parameter{
		"deep":            {{Name: "x", Kind: "keyword_only", Annotation: deep}},
		"long default":    {{Name: "x", Kind: "keyword_only", Annotation: &Type{Kind: "str"}, Default: long}},
		"many parameters": many,
	} {
		_, err := NewSchema(&Callable{Kind: "plain", Parameters: parameters}, goldenChars)
		if codeOf(t, err) != UnsupportedSignature {
			t.Errorf("%s: %v", name, err)
		}
	}
	described := many[:300]
	for i := range described {
		described[i].Description = string(bytes.Repeat([]byte("é"), 2000))
	}
	s, err := NewSchema(&Callable{Kind: "plain", Parameters: described}, goldenChars)
	if err != nil || len(s.Advertised) > MaxSchemaBytes {
		t.Errorf("300 parameters with long descriptions: %v", err)
	}
}

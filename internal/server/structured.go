package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
)

// callMessage encodes the answer of a tools/call of the legacy era.
func (s *Server) callMessage(id json.RawMessage, rep reply) ([]byte, error) {
	b := response(id)
	b.WriteString(`,"result":{"content":[{"type":"text","text":`)
	if err := encode(b, rep.text); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	for _, image := range rep.images {
		b.WriteString(`,{"type":"image","mimeType":"` + image.MIME + `","data":"`)
		b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), image.Data))
		b.WriteString(`"}`)
	}
	b.WriteByte(']')
	if rep.isStructured() {
		b.WriteString(`,"structuredContent":`)
		if err := s.encodeStructured(b, rep.value); err != nil {
			return nil, err
		}
	}
	if rep.refused {
		b.WriteString(`,"isError":true`)
	}
	b.WriteString(`}}`)
	return b.Bytes(), nil
}

// encodeStructured appends what structuredContent holds.
func (s *Server) encodeStructured(b *bytes.Buffer, answer any) error {
	if s.compact {
		return encodeCompact(b, reflect.ValueOf(answer))
	}
	return encode(b, answer)
}

// alwaysPresent names the fields that compact answers keep whatever they say: their zero is an answer.
var alwaysPresent = map[string]bool{"ok": true, "execution_count": true}

// encodeCompact encodes an answer without the fields that say nothing: null, empty, false, a count of none, and
// objects of only such fields. It follows the answer's Go type, so that what user code returned or displayed
// (json.RawMessage) stays as it is.
func encodeCompact(b *bytes.Buffer, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		return encodeCompact(b, v.Elem())
	case reflect.Struct:
		return encodeCompactStruct(b, v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			return encodeCompactSlice(b, v)
		}
	}
	return encode(b, v.Interface())
}

func encodeCompactStruct(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('{')
	begin := b.Len()
	for _, field := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value := v.FieldByIndex(field.Index)
		isZero := alwaysPresent[name] && value.Kind() != reflect.Pointer // nil is not a zero, but nothing
		if field.Anonymous || saysNothing(value) && !isZero {
			continue
		}
		if b.Len() > begin {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":`)
		if err := encodeCompact(b, value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func encodeCompactSlice(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encodeCompact(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func saysNothing(v reflect.Value) bool {
	if raw, isRaw := v.Interface().(json.RawMessage); isRaw {
		return len(raw) == 0 || bytes.Equal(raw, null)
	}
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

package dyntools

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// branch is one alternative of a union with what it is sorted and told apart by.
type branch struct {
	schema *jsonschema.Schema
	form   string // canonical JSON of schema
	key    string // identity of the type; set[int] and frozenset[int] differ here and not in form
}

// union makes anyOf: flattened, each type once, sorted. One remaining branch stands for itself.
func (b *builder) union(items []*Type, depth int) (*jsonschema.Schema, error) {
	var branches []branch
	seen := make(map[string]bool)
	for _, item := range flatten(items, nil) {
		one, err := b.branch(item, depth+1)
		if err != nil {
			return nil, err
		}
		if !seen[one.key] {
			seen[one.key] = true
			branches = append(branches, one)
		}
	}
	switch len(branches) {
	case 0:
		return nil, errors.New("the union has no members")
	case 1:
		return branches[0].schema, nil
	}
	slices.SortStableFunc(branches, func(x, y branch) int { return strings.Compare(x.form, y.form) })
	s := &jsonschema.Schema{}
	for _, one := range branches {
		s.AnyOf = append(s.AnyOf, one.schema)
	}
	return s, nil
}

func (b *builder) branch(item *Type, depth int) (branch, error) {
	schema, err := b.typeSchema(item, depth)
	if err != nil {
		return branch{}, err
	}
	raw, err := render(schema)
	if err != nil {
		return branch{}, err
	}
	form, err := canonical(raw)
	if err != nil {
		return branch{}, err
	}
	return branch{schema: schema, form: string(form), key: typeKey(item)}, nil
}

// flatten resolves unions that stand directly in a union. A described union keeps its text and stays.
func flatten(items, flat []*Type) []*Type {
	for _, item := range items {
		if item != nil && item.Kind == "union" {
			flat = flatten(item.Items, flat)
			continue
		}
		flat = append(flat, item)
	}
	return flat
}

// typeKey identifies a type as typing compares them: the order of union members and of Literal values does not
// count.
func typeKey(t *Type) string {
	if t == nil {
		return ""
	}
	items := t.Items
	if t.Kind == "union" {
		items = flatten(t.Items, nil)
	}
	var members []string
	for _, item := range items {
		members = append(members, typeKey(item))
	}
	for _, value := range t.Values {
		members = append(members, string(value))
	}
	if t.Kind == "union" || t.Kind == "literal" {
		slices.Sort(members)
		members = slices.Compact(members)
	}
	if t.Kind == "union" && len(members) == 1 {
		return members[0]
	}
	for _, f := range t.Fields {
		members = append(members, joined(f.Name, strconv.FormatBool(f.Required), typeKey(f.Annotation),
			string(f.Default), f.Description))
	}
	return joined(t.Kind, t.Name, t.Format, t.Text, typeKey(t.Of), joined(members...))
}

// joined prefixes each part with its length, so that no text can look like structure.
func joined(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
	}
	return b.String()
}

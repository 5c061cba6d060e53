// SPDX-License-Identifier: Apache-2.0

package text

import (
	"reflect"
	"strings"
	"unicode"
)

// unshown replaces each character that is not shown.
const unshown = '\uFFFD'

// Printable makes a text of foreign origin fit to be shown to a person on a terminal. It replaces with \uFFFD each control character except line
// breaks and tabs, each character that turns the direction of text, and each invisible character. The replacement shows a person that there was
// something. Printable trims white space at both ends, and ends each line with \n alone.
func Printable(s string) string { return strings.TrimSpace(Shown(s)) }

// Shown is Printable without the trim.
func Shown(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, string(unshown)), "\r\n", "\n")
	before := rune(0)
	return strings.Map(func(c rune) rune {
		was := before
		before = c
		if hides(c) && !inSymbol(was, c) {
			return unshown
		}
		return c
	}, s)
}

// hides reports whether a character is invisible, turns the direction of text, or makes a terminal do something.
func hides(c rune) bool {
	switch {
	case c == '\n' || c == '\t':
		return false
	case c < 0x7F:
		return c < ' '
	}
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// inSymbol reports whether an invisible character is one that pictures are made of, after another.
func inSymbol(before, c rune) bool {
	switch c {
	case '\uFE0E', '\uFE0F':
		return unicode.In(before, unicode.So, unicode.Sm, unicode.Po, unicode.Nd)
	case '\u200D':
		return before == '\uFE0F' || unicode.In(before, unicode.So, unicode.Sk)
	}
	return false
}

// ShowAll makes each string within v Shown, in structs, lists, maps and pointers too. Keys of maps and bytes stay as they are. No string gets more
// characters by it.
func ShowAll(v any) { showAll(reflect.ValueOf(v)) }

func showAll(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // nothing else has strings in it
	case reflect.String:
		if v.CanSet() {
			v.SetString(Shown(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			showAll(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				showAll(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			showAll(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			showAll(item)
			v.SetMapIndex(key, item)
		}
	}
}

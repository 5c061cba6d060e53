// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"fmt"
	"iter"
)

// words are looked for in a text all at once: the text is read once, however many they are.
type words struct {
	// lists are the words, those that begin with the same two bytes together. The first list is empty.
	lists [][]string
	// places has the index of the list of each two bytes. It is nil if there are no words.
	places *[1 << 16]uint16
}

// newWords returns the set of the words. Each must have two bytes at least.
func newWords(all []string) (words, error) {
	if len(all) == 0 {
		return words{}, nil
	}
	w := words{lists: [][]string{nil}, places: new([1 << 16]uint16)}
	for _, word := range all {
		if len(word) < 2 {
			return words{}, fmt.Errorf("the word %q is too short", word)
		}
		place := &w.places[uint16(word[0])<<8|uint16(word[1])]
		if *place == 0 {
			*place, w.lists = uint16(len(w.lists)), append(w.lists, nil)
		}
		w.lists[*place] = append(w.lists[*place], word)
	}
	return w, nil
}

// in yields the words that are in a text, each as often as it is there.
func (w words) in(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		if w.places == nil {
			return
		}
		var start uint16 // The byte before, and this one.
		for i, b := range text {
			start = start<<8 | uint16(b)
			place := w.places[start]
			if place == 0 || i == 0 {
				continue
			}
			for _, word := range w.lists[place] {
				if bytes.HasPrefix(text[i-1:], []byte(word)) && !yield(word) {
					return
				}
			}
		}
	}
}

// anyIn reports whether one of the words is in a text, in small or capital letters.
func (w words) anyIn(text string) bool {
	for range w.in(bytes.ToLower([]byte(text))) {
		return true
	}
	return false
}

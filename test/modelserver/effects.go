// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// maxEffects bounds what is remembered.
const maxEffects = 50_000

// effectID is what can stand in a URL and in a shell's command line as it is.
var effectID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

var errEffectsFull = errors.New("too many effects")

// effect is something that a tool did.
type effect struct {
	Seq  int       `json:"seq"`
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
}

// effects counts what tools really did, outside of everything that a fault can reach.
type effects struct {
	mu     sync.Mutex
	counts map[string]int
	order  []effect
	size   int
}

// effectList is what was counted.
type effectList struct {
	Total  int            `json:"total"`
	Counts map[string]int `json:"counts"`
	// Order has every effect as it came.
	Order []effect `json:"order"`
}

// add counts an effect and says how often it has come by now.
func (e *effects) add(id string, now time.Time) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.order) == e.size {
		return 0, errEffectsFull
	}
	e.counts[id]++
	e.order = append(e.order, effect{Seq: len(e.order) + 1, ID: id, Time: now})
	return e.counts[id], nil
}

// list returns the effects whose ids begin with prefix.
func (e *effects) list(prefix string) effectList {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := effectList{Counts: map[string]int{}, Order: []effect{}}
	for _, one := range e.order {
		if strings.HasPrefix(one.ID, prefix) {
			l.Total++
			l.Counts[one.ID]++
			l.Order = append(l.Order, one)
		}
	}
	return l
}

func (e *effects) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.counts)
	e.order = nil
}

// addEffect answers with the count alone, which a shell can read.
func (s *server) addEffect(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if !effectID.MatchString(id) {
		http.Error(w, "id has to be 1 to 128 letters, digits, dots, dashes and underscores", http.StatusBadRequest)
		return
	}
	count, err := s.effects.add(id, s.now().UTC())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInsufficientStorage)
		return
	}
	fmt.Fprintln(w, count)
}

func (s *server) listEffects(w http.ResponseWriter, r *http.Request) {
	send(r.Context(), w, jsonReply(http.StatusOK, append(mustJSON(s.effects.list(r.URL.Query().Get("prefix"))), '\n')))
}

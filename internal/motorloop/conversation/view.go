// SPDX-License-Identifier: Apache-2.0

// Package conversation has what the model is sent: the conversation as it follows from the recorded turns, and the requests beside it.
package conversation

import (
	"cmp"
	"slices"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/prompt"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/stuck"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A conversation only grows until it is large: each request begins with the whole previous request, so that an endpoint that caches
// prefixes reads each text once. Above fullAt of the window, the largest old texts are cut in one step, down to
// roomyAt. If that is not enough for enoughAt, a summary replaces older turns. All of it follows from the recorded turns
// and the window: a loop that resumes after a restart sends the same messages.
//
//	grows ──► over fullAt ──► old texts cut, at most enoughAt is left ──► grows
//	                     └──► not enough ──► summary ──► grows
const (
	fullAt, roomyAt, enoughAt = 60, 40, 50 // Percent of the window.
	// worthAt is how much of the window a step has to free: one that frees less would be followed by the next at once.
	worthAt = 10
	// keptAt is the share of the window for the newest turns that a summary does not cover. A summary never covers the last turn.
	keptAt = 10
)

// view is the model's view of an attempt.
type view struct {
	cfg     config.Config
	window  int64
	summary *turn.Turn
	// before are the iterations that the summary replaces, open those that are shown.
	before, open []*turn.Turn
	// cut has the texts that are shortened, with the remaining size of each in bytes.
	cut    map[part]int
	warner stuck.Warner
	warned map[stuck.At]string
	// left has the notes about the remaining limits, by the index of their turn.
	left map[int32]string
	// fixed is the size in bytes of the messages without any turn, summed that of the summary, sizes those of the open turns by index, and opened their
	// sum.
	fixed, summed, opened int64
	sizes                 map[int32]int64
	// said are the messages of the open turns, summaries those of the summary.
	said      map[*turn.Turn][]chat.Message
	summaries []chat.Message
	// parts are those of a turn that can be cut to oldHead. They are computed once: a conversation of the largest texts would
	// take seconds for each request otherwise.
	parts map[int32][]cuttable
	// due is the index of the last turn that the next summary covers, 0 if none is due.
	due int32
}

// part is a text of the conversation: a result, the arguments of a call, or the model's text.
type part struct {
	index int32
	call  int
	of    partKind
}

type partKind int

const (
	ofResult partKind = iota
	ofArguments
	ofContent
)

// viewOf walks the turns: a text that was cut after one of them stays cut until a summary covers it.
func viewOf(cfg config.Config, turns []*turn.Turn) *view {
	v := newView(cfg)
	for _, t := range verdict.Judged(turns) {
		v.add(t)
	}
	return v
}

// newView is the view of an attempt without a turn.
func newView(cfg config.Config) *view {
	v := &view{
		cfg: cfg, window: cfg.AnyWindow(), cut: map[part]int{}, sizes: map[int32]int64{}, parts: map[int32][]cuttable{}, left: map[int32]string{},
		warner: stuck.Warner{Tools: cfg.Tools}, warned: map[stuck.At]string{}, said: map[*turn.Turn][]chat.Message{},
	}
	v.fixed = chat.Size(v.fixedMessages()) + chat.SizeOfTools(cfg.Definitions(catalog.With(cfg.MCPServers)))
	return v
}

// add adds the next turn.
func (v *view) add(t *turn.Turn) {
	v.due = 0
	v.warner.Add(t, v.warned)
	if t.IsSummary() {
		v.cover(t)
		return
	}
	asked := v.size()
	v.open = append(v.open, t)
	v.left[t.Index] = leftNote(v.cfg, t, int32(len(v.before)+len(v.open)))
	v.write(t)
	v.makeRoom(v.tokens(t, asked))
}

// write makes the messages of an open turn.
func (v *view) write(t *turn.Turn) {
	v.opened -= v.sizes[t.Index]
	v.said[t] = v.turnMessages(t)
	v.sizes[t.Index] = chat.Size(v.said[t])
	v.opened += v.sizes[t.Index]
}

// cover replaces turns with a summary.
func (v *view) cover(s *turn.Turn) {
	v.summary = s
	n := 0
	for n < len(v.open) && v.open[n].Index <= s.Through {
		n++
	}
	for _, t := range v.open[:n] {
		v.opened -= v.sizes[t.Index]
		delete(v.said, t)
	}
	v.before, v.open = append(v.before, v.open[:n]...), v.open[n:]
	v.summaries = v.summaryMessages()
	v.summed = chat.Size(v.summaries)
}

// size is the size of the next request in bytes.
func (v *view) size() int64 { return v.fixed + v.summed + v.opened }

// tokens estimates the size of the request that follows t: the endpoint's count for the request that t answers, plus the texts
// since then. It ignores an implausible count: the endpoint may report nothing, or the request had to be made much shorter.
// asked is the size of the conversation that t answers.
func (v *view) tokens(t *turn.Turn, asked int64) int64 {
	about := asked / chat.BytesPerToken
	if counted := t.Usage.PromptTokens; counted >= about/2 && counted <= about*2 {
		about = counted
	}
	return about + v.sizes[t.Index]/chat.BytesPerToken
}

// makeRoom cuts old texts of a conversation that has become large, or finds that a summary is due.
func (v *view) makeRoom(tokens int64) {
	if tokens*100 <= v.window*fullAt {
		return
	}
	chosen, freed := choose(v.cuttable(), (tokens-v.window*roomyAt/100)*chat.BytesPerToken)
	through, summed := v.worthSummary()
	enough := v.window * enoughAt / 100 * chat.BytesPerToken
	left := tokens*chat.BytesPerToken - freed
	// If the newest results alone are too much, a summary of the texts before them does not help either.
	if left <= enough || left+freed-summed > enough && v.worth(freed) {
		v.apply(chosen)
		return
	}
	if v.worth(summed) {
		v.due = through
	}
}

// worth reports whether a step that frees so many bytes is worth it: after one that frees little the next one would follow at once.
func (v *view) worth(bytes int64) bool { return bytes*100 >= v.window*worthAt*chat.BytesPerToken }

// worthSummary returns the index of the last turn that a summary should cover, and how many bytes that frees at least.
func (v *view) worthSummary() (through int32, frees int64) {
	kept := 1
	room := v.window*keptAt/100*chat.BytesPerToken - v.sizes[v.open[len(v.open)-1].Index]
	for ; kept < len(v.open); kept++ {
		if room -= v.sizes[v.open[len(v.open)-1-kept].Index]; room < 0 {
			break
		}
	}
	older := v.open[:len(v.open)-kept]
	if len(older) == 0 {
		return 0, 0
	}
	frees = -int64(maxSummaryOf(v.cfg))
	for _, t := range older {
		frees += v.sizes[t.Index]
	}
	if v.summary != nil {
		frees += int64(len(v.summary.Content))
	}
	return older[len(older)-1].Index, frees
}

// cuttable is a part that can be cut, and how many bytes that frees.
type cuttable struct {
	part
	head  int
	frees int64
}

// minFreed is the least that cutting a text has to free. Otherwise the model would have to fetch a text again that is hardly larger than the
// note about its cut.
const minFreed = 300

// cuttable returns the texts of all turns but the last, whose results the model has not seen yet. A person's words are never among them.
func (v *view) cuttable() []cuttable {
	var found []cuttable
	for _, t := range v.open[:max(len(v.open)-1, 0)] {
		parts, known := v.parts[t.Index]
		if !known {
			parts = v.cuttableIn(t, oldHead)
			v.parts[t.Index] = parts
		}
		for _, p := range parts {
			if v.cut[p.part] == 0 {
				found = append(found, p)
			}
		}
	}
	return found
}

func (v *view) cuttableIn(t *turn.Turn, head int) []cuttable {
	var found []cuttable
	add := func(p part, now, then int) {
		if frees := now - then; v.cut[p] == 0 && frees >= minFreed {
			found = append(found, cuttable{p, head, int64(frees)})
		}
	}
	for i := range t.Calls {
		if i < len(t.Results) && t.Results[i] != nil && t.Results[i].Provenance != toolapi.ProvenanceUser {
			res := t.Results[i]
			add(part{t.Index, i, ofResult}, len(result.Render(res)), len(renderCut(t.Calls[i], res, head)))
		}
		if len(t.Calls[i].Arguments) > head {
			whole := replayableArguments(t.Calls[i].Arguments)
			add(part{t.Index, i, ofArguments}, len(whole), len(shortenArguments(whole, head))+len(argumentsCutNote))
		}
	}
	add(part{t.Index, -1, ofContent}, len(t.Content), len(cutContent(t.Content, 2*head)))
	return found
}

// choose selects the largest parts until they free so many bytes; of equal ones it selects the oldest.
func choose(parts []cuttable, bytes int64) (chosen []cuttable, freed int64) {
	slices.SortStableFunc(parts, func(a, b cuttable) int { return cmp.Compare(b.frees, a.frees) })
	for _, p := range parts {
		if freed >= bytes {
			break
		}
		chosen, freed = append(chosen, p), freed+p.frees
	}
	return chosen, freed
}

func (v *view) apply(parts []cuttable) {
	changed := map[int32]bool{}
	for _, p := range parts {
		v.cut[p.part], changed[p.index] = p.head, true
	}
	for _, t := range v.open {
		if changed[t.Index] {
			v.write(t)
		}
	}
}

// messages returns the conversation as the model sees it.
func (v *view) messages() []chat.Message {
	msgs := v.fixedMessages()
	msgs = append(msgs, v.summaries...)
	for _, t := range v.open {
		msgs = append(msgs, v.said[t]...)
	}
	return msgs
}

func (v *view) fixedMessages() []chat.Message {
	return []chat.Message{{Role: chat.RoleSystem, Content: prompt.System(v.cfg)}, {Role: chat.RoleUser, Content: v.cfg.Task}}
}

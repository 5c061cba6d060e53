// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"slices"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/prompt"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// learnPeer asks for the capabilities of the sandbox, until they are known. A sandbox that is not available ends the question.
func (r *run) learnPeer(ctx context.Context) {
	if r.askPeer == nil || r.cfg.Peer != nil {
		return
	}
	// The sandbox gets ready beyond the question, so its context must not be the one that ends with the question.
	r.gate.start(ctx)
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.gate.onFailure(cancel)()
	waited := r.watch.Wait()
	r.cfg.Peer = r.askPeer(asking)
	waited()
	r.keepPrompt()
}

// keepPrompt retains the prompt of an attempt that began before its slow sandbox reported its environment. Another prompt would invalidate
// the endpoint's cache of the whole conversation, then and in each loop that carries the attempt on.
func (r *run) keepPrompt() {
	i := slices.IndexFunc(r.turns, func(t *turn.Turn) bool { return t.PromptDigest != "" })
	if i < 0 || r.cfg.Peer.Environment() == nil {
		return
	}
	without := r.cfg
	without.Peer = r.cfg.Peer.WithoutEnvironment()
	began := r.turns[i].PromptDigest
	if began != chat.Digest(prompt.System(r.cfg)) && began == chat.Digest(prompt.System(without)) {
		r.cfg = without
	}
}

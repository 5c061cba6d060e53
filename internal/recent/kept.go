// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// keptFor is how long an answer is of use, and so the greatest age that makes sense. It is forgotten half of that later at most.
	keptFor = time.Minute
	// maxBytes bounds the memory of all answers, and maxOfNamespace that of one namespace: a user who can write there must not take the room of
	// all others. Answers for which there is no room are not kept, and each run asks for itself.
	maxBytes       = 8 << 20
	maxOfNamespace = 2 << 20
	// maxAnswer is the most that is kept of one answer. Keys and tokens are much smaller; a larger Secret has other things, which nothing reads often.
	maxAnswer = 64 << 10
	// overhead is the memory of an answer in addition to its texts.
	overhead = 1 << 10
)

// question is what is asked of the API server: the name of an object of a kind, or the text of a review.
type question struct{ kind, namespace, name string }

// isAnswer reports whether the API server answered: that there is no such object is an answer, too.
func isAnswer(err error) bool { return err == nil || apierrors.IsNotFound(err) }

// kept are the answers that are kept. The zero value has none.
type kept struct {
	answers map[question]*request
	// bytes is the memory of all answers, and of those in each namespace.
	bytes       int
	ofNamespace map[string]int
}

// keep keeps an answer, unless there is no room for it. There must be none to the same question.
func (k *kept) keep(q question, r *request) {
	size := sizeOf(q, r)
	if size > maxAnswer || k.bytes+size > maxBytes || k.ofNamespace[q.namespace]+size > maxOfNamespace {
		return
	}
	if k.answers == nil {
		k.answers, k.ofNamespace = map[question]*request{}, map[string]int{}
	}
	k.answers[q] = r
	k.bytes += size
	k.ofNamespace[q.namespace] += size
}

// forget forgets the answer to a question, if there is one.
func (k *kept) forget(q question) {
	r := k.answers[q]
	if r == nil {
		return
	}
	delete(k.answers, q)
	size := sizeOf(q, r)
	k.bytes -= size
	if k.ofNamespace[q.namespace] -= size; k.ofNamespace[q.namespace] == 0 {
		delete(k.ofNamespace, q.namespace)
	}
}

// forgetBefore forgets the answers to requests that began until then.
func (k *kept) forgetBefore(then time.Time) {
	for q, r := range k.answers {
		if !r.at.After(then) {
			k.forget(q)
		}
	}
}

// sizeOf returns about how many bytes an answer takes.
func sizeOf(q question, r *request) int {
	size := overhead + len(q.namespace) + len(q.name)
	if sized, ok := r.is.(interface{ Size() int }); ok && r.err == nil {
		size += sized.Size()
	}
	return size
}

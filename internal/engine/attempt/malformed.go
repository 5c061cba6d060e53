// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"fmt"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

// maxMalformed is how often the loop repeats a request with a malformed answer. A gateway in trouble sends such answers for
// seconds. A model that answers this request that way always does, and each time costs an answer.
const maxMalformed = 5

// stubborn counts the outages that are malformed answers to the same request.
type stubborn struct {
	requestDigest string
	times         int
}

// readableModel is a model whose malformed answers count as an outage only a few times for each request.
type readableModel struct {
	chat.Model
	memory *Memory
}

// Complete asks the model.
func (m readableModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	a, err := m.Model.Complete(ctx, r)
	o, ok := errors.AsType[*chat.Outage](err)
	if !ok || o.Reason != outcome.ReasonModelMalformed {
		return a, err
	}
	digest, known := chat.RequestDigest(r), &m.memory.malformed
	if known.requestDigest != digest {
		*known = stubborn{requestDigest: digest}
	}
	if known.times++; known.times < maxMalformed {
		return a, err
	}
	*known = stubborn{}
	return a, &outcome.Failure{
		Category: outcome.ModelFailure, Reason: o.Reason, Retryable: true,
		Message: fmt.Sprintf("%s It answered the same request so %d times.", o.Message, maxMalformed),
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package reply shows people what runs ask, and sends what they answer. An answer is taken only by the run that asked, and only for the ask that the
// person saw.
package reply

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// maxSaid is the most bytes of a text in a line.
const maxSaid = 72

// Ask is an ask of a run, as it was read.
type Ask struct {
	Client client.Client
	Run    *v1alpha1.MotorRun
	*v1alpha1.PendingInput
}

// Send adds the response. The API server takes it only if this run still asks this.
func (s *Ask) Send(ctx context.Context, r v1alpha1.Response) error {
	body, err := asks.Patch(s.Run, s.PendingInput, r)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(s.Run)
	written := s.Run.DeepCopy()
	if err := s.Client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, body)); err != nil {
		now := &v1alpha1.MotorRun{}
		if s.Client.Get(ctx, key, now) != nil {
			now = nil
		}
		return explain(err, s, r, now)
	}
	return nil
}

// explain says in words why a response was not taken, nil if it was although the API server was not heard. now is the run as it is, nil if it cannot
// be read.
func explain(err error, s *Ask, sent v1alpha1.Response, now *v1alpha1.MotorRun) error {
	what := fmt.Sprintf("%s/%s did not take it", s.Run.Namespace, s.Run.Name)
	switch r := asks.Refused(err, s.Run, s.PendingInput, now); r.Cause {
	case asks.Gone:
		return fmt.Errorf("%s: the run that asked is gone", what)
	case asks.Denied:
		return fmt.Errorf("%s: %s", what, r.Reason)
	case asks.NoRight:
		return fmt.Errorf("%s: %w. Have the ClusterRole %s bound to you in the namespace %s", what, err, asks.Role(s.Kind), s.Run.Namespace)
	case asks.Answered:
		switch same := asks.Same(r.Response, &sent); {
		case same && asks.Lost(err):
			return nil
		case same:
			return fmt.Errorf("%s: it has this very answer already, %s. If that is you, an earlier try sent it", what, Said(r.Response))
		}
		return fmt.Errorf("%s: it was answered a moment ago, %s", what, Said(r.Response))
	case asks.NotAsked:
		return fmt.Errorf("%s: it does not ask that any more. \"kubectl motor get %s\" says how it stands", what, s.Run.Name)
	case asks.Invalid:
		return fmt.Errorf("%s: %s", what, lookup.Invalid(err))
	case asks.Other:
	}
	return fmt.Errorf("%s: %w", what, err)
}

// ErrNoOption is within the error for a number that is none of the options.
var ErrNoOption = errors.New("that is no option")

// number is a number and nothing else.
var number = regexp.MustCompile(`^[+-]?[0-9]+$`)

// Answer is the answer that a person typed: words, or the number of an option, which is returned then. Beside options another number is refused: it
// is a slip of a key more often than an answer, and an answer cannot be taken back.
func (s *Ask) Answer(line string) (answer string, option int, err error) {
	if n, notANumber := strconv.Atoi(line); notANumber == nil && n >= 1 && n <= len(s.Options) {
		return s.Options[n-1], n, nil
	}
	if len(s.Options) > 0 && number.MatchString(line) && !slices.Contains(s.Options, line) {
		return "", 0, fmt.Errorf("%w: the question has the options 1 to %d. \"kubectl motor answer %s -n %s NUMBER\" sends a number as words",
			ErrNoOption, len(s.Options), s.Run.Name, s.Run.Namespace)
	}
	if line == "" {
		// Who wants to leave must not send the words of the model.
		return "", 0, errors.New("the answer is empty")
	}
	return line, 0, nil
}

// Said is a response in words.
func Said(r *v1alpha1.Response) string {
	what := string(r.Decision)
	if what == "" {
		what = strconv.Quote(show.Line(r.Answer, maxSaid))
	}
	if r.RespondedBy != "" {
		return fmt.Sprintf("by %s: %s", show.Line(r.RespondedBy, maxSaid), what)
	}
	return "with " + what
}

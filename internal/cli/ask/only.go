// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// bounds are of what is read to find the only run that waits.
var bounds = lookup.Bounds{Requests: 20, Bytes: 16 << 20, BytesOf: 16 << 20}

// waiting is a run that waits for something which a verb answers.
type waiting struct {
	run *v1alpha1.MotorRun
	ask *v1alpha1.PendingInput
}

// only finds the run of the namespace that waits for what the verb answers, if it is the only one that waits for this person.
func (c Command) only(ctx context.Context, cl client.Client, namespace string, ch *choice) (*v1alpha1.MotorRun, error) {
	runs, left, err := lookup.WaitingWithin(ctx, cl, namespace, bounds)
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("%w. Without that right, give the name of the RUN, or have the ClusterRole motorcortex-viewer bound to you in the namespace %s", err, namespace)
	case err != nil:
		return nil, err
	case left:
		return nil, verb.Misusedf("more runs wait than are looked through: give the name of the RUN")
	}
	found, others, err := ch.waitingAmong(ctx, rights.Of(cl), runs)
	if err != nil {
		return nil, err
	}
	where := cluster.Selected(ch.cmd)
	switch {
	case len(found) == 0:
		return nil, ch.noneWaits(namespace, others)
	case slices.ContainsFunc(found, func(w waiting) bool { return w.run.UID != found[0].run.UID }):
		for _, w := range found {
			fmt.Fprintf(c.Err, "%s  %s  %s\n  %s\n", w.run.Name, pending.Word(w.ask.Kind), show.Line(w.ask.Title, maxTitle), pending.CommandBy(w.run, w.ask, ch.cmd.Name(), where))
		}
		return nil, verb.Misusedf("several runs wait: give the name of the RUN")
	}
	w := found[0]
	if !c.Terminal && ch.unseen() {
		return nil, verb.Misusedf("there is no terminal to ask at, and the run that waits may be another one than you have seen: name it, as in %q",
			pending.CommandBy(w.run, w.ask, ch.cmd.Name(), where))
	}
	fmt.Fprintf(c.Err, "%s is the only run of the namespace %s that waits for this\n", w.run.Name, namespace)
	// What was listed has no more of a run than its asks.
	run, err := lookup.Run(ctx, cl, namespace, w.run.Name)
	if err == nil && run.UID != w.run.UID {
		return nil, fmt.Errorf("%s: the run that asked is gone, and there is another one of its name: nothing was answered", run.Name)
	}
	return run, err
}

// unseen reports whether the person named neither the run nor what it asks.
func (ch *choice) unseen() bool { return ch.chosen && ch.id == "" && ch.uid == "" && ch.digest == "" }

// waitingAmong are the runs that wait for what the choice is about and the person may answer, and how many asks are for people with other rights.
func (ch *choice) waitingAmong(ctx context.Context, mine *rights.Rights, runs []v1alpha1.MotorRun) (found []waiting, others int, err error) {
	for i := range runs {
		run := &runs[i]
		for _, p := range pending.Open(run) {
			if !ch.meant(run, p) {
				continue
			}
			may, err := mine.Answer(ctx, run, p.Kind)
			if err != nil {
				return nil, 0, err
			}
			if !may {
				others++
				continue
			}
			found = append(found, waiting{run, p})
		}
	}
	return found, others, nil
}

// meant reports whether an ask is of the kind, and has what the flags name.
func (ch *choice) meant(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput) bool {
	return slices.Contains(ch.kinds, p.Kind) && (ch.id == "" || ch.id == p.ID) && (ch.uid == "" || ch.uid == string(run.UID)) &&
		(ch.digest == "" || p.Action != nil && p.Action.ArgsDigest == ch.digest)
}

// noneWaits says that no run waits for what the choice is about. others are the asks that other people may answer.
func (ch *choice) noneWaits(namespace string, others int) error {
	var words []string
	for _, k := range ch.kinds {
		words = append(words, pending.Word(k))
	}
	kind := strings.Join(words, " or ")
	if ch.id != "" || ch.uid != "" || ch.digest != "" {
		kind += " with what the flags name"
	}
	if others > 0 {
		return fmt.Errorf("no run of the namespace %s waits for you (%s), and %d for people with other rights: have the ClusterRole %s bound to you there",
			namespace, kind, others, asks.Role(ch.kinds[0]))
	}
	return fmt.Errorf("no run of the namespace %s waits for an answer (%s): \"kubectl motor inbox -A\" lists what waits in all namespaces", namespace, kind)
}

// sure asks a person who named neither the run nor the ask whether the decision is the one that they mean. The verb has shown the ask before.
func (c Command) sure(ctx context.Context, ch *choice, question string) error {
	return c.confirm(ctx, !ch.unseen(), question, "there is no terminal to ask at: give the name of the RUN")
}

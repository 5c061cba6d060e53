// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/credential"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

const (
	// readAgain is the interval at which the Secrets of a run's credentials are read again, as long as it has a sandbox. They are not watched, and a
	// change or deletion must take effect for the run too.
	readAgain = 5 * time.Second
	// readAgainAway is readAgain while the model of the run is not available, and no program in the sandbox could use a value.
	readAgainAway = 30 * time.Second
	// askAgain is after how long it is asked again whether the requester may use a Secret.
	askAgain = time.Minute
)

// readsEvery returns the interval at which the Secrets of a run are read again.
func readsEvery(s *pass.Run) time.Duration {
	if isIdle(s) {
		return readAgainAway
	}
	return readAgain
}

// isIdle reports whether the run waits for its model and has no program in the background. It keeps its grant, because its loop is started for each try.
func isIdle(s *pass.Run) bool { return s.Progress.Outage != nil && !s.Progress.InBackground }

// source returns where credentials come from, and who may use them. Secrets and rights are as old as that at most.
func (g *Granter) source(secrets, rights time.Duration) credential.Source {
	source := credential.Source{Live: g.Live, Reviews: g.Client, Namespace: g.Sandbox.Namespace}
	if g.Recent != nil {
		source.Live, source.Reviews = g.Recent.Within(secrets), g.Recent.Asking(rights)
	}
	return source
}

// checkCredentials fails with a *cortex.Problem if a credential of the run cannot be used.
func (g *Granter) checkCredentials(ctx context.Context, run *v1alpha1.MotorRun, age time.Duration) error {
	source := g.source(age, age)
	for i := range run.Spec.Credentials {
		if err := checkCredential(ctx, source, run, &run.Spec.Credentials[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkCredential(ctx context.Context, source credential.Source, run *v1alpha1.MotorRun, c *v1alpha1.Credential) error {
	later, saved := reach.ComesLater(run, c)
	// The right is checked first: a requester without it must learn nothing of a Secret that a person named.
	denied := source.Allowed(ctx, run, c)
	if denied != nil && !saved {
		return denied
	}
	_, err := source.Value(ctx, run, c, func() (bool, error) { return source.MayChoose(ctx, run, c) })
	if p, ok := cortex.AsProblem(err); ok && later && p.Reason == v1alpha1.ReasonCredentialSecretNotFound {
		return nil
	}
	if denied != nil {
		return denied
	}
	return err
}

// readCredentials updates the run's credentials. An error that no person can correct ends the pass: a credential must not be lost because the API
// server was away for a moment.
func (g *Granter) readCredentials(ctx context.Context, s *pass.Run, st *memory) error {
	if len(s.Run.Spec.Credentials) == 0 || st.credentials != nil && s.Now.Sub(st.readAt) < readsEvery(s) {
		return nil
	}
	source, fresh := g.source(readAgain, askAgain/2), map[string]reading{}
	for i := range s.Run.Spec.Credentials {
		c := &s.Run.Spec.Credentials[i]
		problem, err := g.review(ctx, s, st, c)
		if err != nil {
			return err
		}
		read := reading{problem: problem}
		if problem == nil {
			if read.value, err = source.Value(ctx, s.Run, c, func() (bool, error) { return g.chooses(ctx, s, st, c) }); err != nil {
				if _, ok := cortex.AsProblem(err); !ok {
					return err
				}
				read.problem = err
			}
		}
		fresh[c.Name] = read
	}
	st.credentials, st.readAt = fresh, s.Now
	return nil
}

// review reports whether the requester may use a credential's Secret, as of askAgain ago at most.
func (g *Granter) review(ctx context.Context, s *pass.Run, st *memory, c *v1alpha1.Credential) (problem, err error) {
	if last, ok := st.reviews[c.Name]; ok && s.Now.Sub(last.at) < askAgain {
		return last.problem, nil
	}
	problem = g.source(readAgain, askAgain/2).Allowed(ctx, s.Run, c)
	if _, ok := cortex.AsProblem(problem); problem != nil && !ok {
		return nil, problem
	}
	if st.reviews == nil {
		st.reviews = map[string]review{}
	}
	st.reviews[c.Name] = review{problem, s.Now}
	return problem, nil
}

// chooses reports whether the requester may choose the hosts of a credential's Secret, as of askAgain ago at most.
func (g *Granter) chooses(ctx context.Context, s *pass.Run, st *memory, c *v1alpha1.Credential) (bool, error) {
	last := st.choices[c.Name]
	if !last.at.IsZero() && s.Now.Sub(last.at) < askAgain {
		return last.may, nil
	}
	may, err := g.source(readAgain, askAgain/2).MayChoose(ctx, s.Run, c)
	if err != nil {
		return false, err
	}
	if st.choices == nil {
		st.choices = map[string]choice{}
	}
	st.choices[c.Name] = choice{may, s.Now}
	return may, nil
}

func problemText(err error) string {
	if p, ok := cortex.AsProblem(err); ok {
		return p.Message
	}
	return err.Error()
}

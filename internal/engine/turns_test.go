// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// deadlines notes by when the calls of the API server are to be done: last is the latest time.
type deadlines struct {
	mu   sync.Mutex
	last time.Time
}

func (d *deadlines) note(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now().Add(24 * time.Hour)
	}
	if until.After(d.last) {
		d.last = until
	}
}

// watch gives the client that has its calls noted.
func (d *deadlines) watch(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			d.note(ctx)
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			d.note(ctx)
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			d.note(ctx)
			return c.Create(ctx, o, opts...)
		},
	})
}

// hasArchive has the sandbox give an archive that a run of a Skill installed there, and gives what the sandbox says of it.
func (r *skillRig) hasArchive(content string) toolapi.Result {
	r.t.Helper()
	r.run.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(&v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "mail", UID: "skill-uid"}}, v1alpha1.GroupVersion.WithKind("Skill")),
	}
	r.sandbox.files[toolapi.InstallArchive] = content
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{r.cert}, ClientAuth: tls.RequireAnyClientCert})
	r.must(err)
	r.address = ln.Addr().String()
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.URL.Path = strings.Replace(req.URL.Path, toolapi.PathArtifacts+"/", toolapi.PathSkills+"/", 1)
		r.sandbox.ServeHTTP(w, req)
	})}
	go func() { _ = srv.Serve(ln) }()
	r.t.Cleanup(func() { _ = srv.Close() })
	return toolapi.Result{OK: true, Output: text.JSON(toolapi.InstallResult{SHA256: toolapi.SHA256([]byte(content)), Size: int64(len(content))})}
}

// fill takes all places of a gate for others, and gives what leaves one of them.
func (r *skillRig) fill(g *gate, places int) (leave func()) {
	r.t.Helper()
	for i := range places {
		var err error
		leave, err = g.enter(r.t.Context(), string(rune('a'+i)), places)
		r.must(err)
	}
	return leave
}

// whileWaiting calls do, and then as soon as it waits at the gate. It gives the error of do.
func whileWaiting(g *gate, places int, do func() error, then func()) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	for {
		g.mu.Lock()
		waits := len(g.visits) > places
		g.mu.Unlock()
		if waits {
			break
		}
		select {
		case err := <-done: // It does not wait.
			done <- err
			then()
			return <-done
		case <-time.After(time.Millisecond):
		}
	}
	then()
	return <-done
}

// Whoever has to wait for a place does nothing without it, nothing if the Lease was lost meanwhile, and has a bounded time for what it
// does then.
func TestLoopsWaitForTheirTurnWithSkills(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		gate   func(*Engine) *gate
		places int
		// start gives what waits, done says whether it did anything.
		start func(*skillRig) func(context.Context) error
		done  func(*skillRig) bool
	}{
		"seeding": {
			func(e *Engine) *gate { return &e.seeding }, maxSeeding,
			func(r *skillRig) func(context.Context) error { return r.seeder().putSkill },
			func(r *skillRig) bool { return len(r.sandbox.put) > 0 },
		},
		"collecting": {
			func(e *Engine) *gate { return &e.collecting }, maxCollecting,
			func(r *skillRig) func(context.Context) error {
				c := r.collector()
				return func(ctx context.Context) error { return c.folder(ctx, &r.sandbox.list.Folders[0], c.found(time.Hour)) }
			},
			func(r *skillRig) bool { return len(r.revisions()) > 1 },
		},
		"storing packages": {
			func(e *Engine) *gate { return &e.collecting }, maxCollecting,
			func(r *skillRig) func(context.Context) error {
				said := r.hasArchive("an archive")
				tools := installTools{box: r.collector().box}
				return func(ctx context.Context) error {
					got, err := tools.store(ctx, said)
					if err == nil && !got.OK {
						err = errors.New(got.Output)
					}
					return err
				}
			},
			func(r *skillRig) bool {
				var parts corev1.ConfigMapList
				r.must(r.client.List(r.t.Context(), &parts, client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentPackages}))
				return len(parts.Items) > 0
			},
		},
		"making a Skill": {
			func(e *Engine) *gate { return &e.newSkills }, 1,
			func(r *skillRig) func(context.Context) error {
				c := r.collector()
				return func(ctx context.Context) error {
					_, _, err := c.newSkill(ctx, "new")
					return err
				}
			},
			func(r *skillRig) bool {
				return r.client.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "new"}, &v1alpha1.Skill{}) == nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, calls := newSkillRig(t), &deadlines{}
			r.pin("mail", threeParts()...)
			r.sandbox.has(".", "SKILL.md", manifestOf("mail", "y"))
			watched := calls.watch(r.client)
			r.engine.Client, r.engine.Live = watched, watched
			do, g := tt.start(r), tt.gate(r.engine)
			leave := r.fill(g, tt.places)

			why := errors.New("the run is over")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(why)
			if err := do(ctx); !errors.Is(err, why) || tt.done(r) {
				t.Errorf("without a place: %v", err)
			}
			wait := func(then func()) error {
				return whileWaiting(g, tt.places, func() error { return do(t.Context()) }, then)
			}
			if err := wait(func() { r.hasLease(false); leave() }); !errors.Is(err, errNoLease) || tt.done(r) {
				t.Errorf("without the Lease: %v", err)
			}
			r.hasLease(true)
			leave, err := g.enter(t.Context(), "last", tt.places)
			r.must(err)
			calls.last = time.Time{}
			if err := wait(leave); err != nil || !tt.done(r) {
				t.Errorf("with a place: %v", err)
			}
			if left := time.Until(calls.last); left > maxTurn {
				t.Errorf("it may keep its place for %v", left)
			}
			if n := len(g.visits); n != tt.places-1 {
				t.Errorf("of %d others %d are left", tt.places-1, n)
			}
		})
	}
}

// found is what a collection has come to when nothing was looked at.
func (c *skillCollector) found(left time.Duration) *skillsFound {
	return &skillsFound{collector: c, names: map[string]bool{}, folders: map[string]bool{}, left: left}
}

func (r *skillRig) hasLease(has bool) {
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	r.engine.heldUntil = time.Time{}
	if has {
		r.engine.heldUntil = noon.Add(time.Hour)
	}
}

// Others that are slow take nothing of the time that a run has for its skills.
func TestWaitingTakesNoTimeToCollect(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", "x"))
	c := r.collector()
	found := c.found(time.Hour)
	leave := r.fill(&r.engine.collecting, maxCollecting)
	var left time.Time
	err := whileWaiting(&r.engine.collecting, maxCollecting, func() error { return c.folder(t.Context(), &r.sandbox.list.Folders[0], found) }, func() {
		<-time.After(20 * time.Millisecond)
		left = time.Now()
		leave()
	})
	if counted, since := time.Hour-found.left, time.Since(left); err != nil || len(found.Created) != 1 || counted <= 0 || counted > since {
		t.Errorf("%v, and %v count of the %v since there was a place: %+v", err, counted, since, found.SkillsResult)
	}
}

// A loop that loses the Lease in the middle of proposing proposes nothing.
func TestSkillIsNotProposedWithoutTheLease(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", "x"))
	r.before = func(o client.Object) error {
		if _, ok := o.(*v1alpha1.Skill); ok {
			r.hasLease(false)
		}
		return nil
	}
	got, err := r.collector().collect(t.Context(), time.Minute)
	if names := r.revisions(); !errors.Is(err, errNoLease) || len(names) > 0 {
		t.Errorf("%+v %v: there are %v", got, err, names)
	}
}

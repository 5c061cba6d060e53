// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var t0 = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// content are the files of a revision, distinguished by a letter.
func content(letter string) []v1alpha1.RevisionFile {
	return Listed([]File{{Path: ManifestName, Content: []byte("same")}, {Path: "scripts/run.sh", Content: []byte(letter)}})
}

func hashOf(letter string) string { return HashOf(content(letter)) }

// revision was made so many minutes after t0.
func revision(letter string, minutes int) v1alpha1.SkillRevision {
	return v1alpha1.SkillRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "mail-" + letter, CreationTimestamp: metav1.NewTime(t0.Add(time.Duration(minutes) * time.Minute))},
		Spec:       v1alpha1.SkillRevisionSpec{SkillName: "mail", ContentHash: hashOf(letter), Files: content(letter)},
		Status:     v1alpha1.SkillRevisionStatus{ReviewTime: new(metav1.NewTime(t0))},
	}
}

// world is a skill whose operator only decides and writes its decision.
type world struct {
	Observation
	verdict Verdict
}

// newWorld has a source that was not read yet.
func newWorld() *world {
	return &world{Observation: Observation{
		Spec:   &v1alpha1.SkillSpec{Source: &v1alpha1.SkillSource{}, Policy: v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"read"}}},
		Status: &v1alpha1.SkillStatus{}, Now: t0,
	}}
}

// step is an event; the operator looks at the skill after each.
type step func(*world)

func (w *world) look() {
	w.verdict = Decide(w.Observation)
	w.Status.State, w.Status.Approved = w.verdict.State, w.verdict.Record
	w.Status.NewestDecided = NewestDecided(w.Spec, w.Status, w.Revisions)
	if w.Source != nil {
		w.Status.Source = &v1alpha1.SkillSourceStatus{ContentHash: w.Source.ContentHash}
	}
}

func does(steps ...step) step {
	return func(w *world) {
		for _, s := range steps {
			s(w)
		}
	}
}

// gives sets the content of the source, whose revision is made.
func gives(letter string) step {
	return func(w *world) {
		w.Spec.Source, w.Source = &v1alpha1.SkillSource{}, &SourceState{ContentHash: hashOf(letter)}
		w.make(letter, nil)
	}
}

// proposes lets a run propose a content.
func proposes(letter string) step {
	return func(w *world) { w.make(letter, &v1alpha1.ExtractedFrom{RunName: "run-" + letter}) }
}

func (w *world) make(letter string, from *v1alpha1.ExtractedFrom) {
	if slices.ContainsFunc(w.Revisions, func(r v1alpha1.SkillRevision) bool { return r.Name == "mail-"+letter }) {
		return
	}
	r := revision(letter, len(w.Revisions))
	r.Spec.ExtractedFrom = from
	w.Revisions = append(w.Revisions, r)
}

func approves(letter string) step {
	return func(w *world) {
		w.Spec.Approval = &v1alpha1.SkillApproval{
			Decision: v1alpha1.SkillDecisionApproved, ContentHash: hashOf(letter), PolicyHash: PolicyHash(&w.Spec.Policy), ApprovedBy: "ann", Account: "ann",
		}
	}
}

// approvesWith approves a content with a note.
func approvesWith(letter, note string) step {
	return does(approves(letter), func(w *world) { w.Spec.Approval.Note = note })
}

// forgets lets the status lose the note: an older operator has written it, or an older CRD does not have it.
func forgets(w *world) { w.Status.Approved.Note = nil }

func revokes(w *world) { w.Spec.Approval.Decision = v1alpha1.SkillDecisionRevoked }

func withdraws(w *world) { w.Spec.Approval = nil }

func rejects(letter string) step {
	return func(w *world) {
		w.Spec.Rejections = append(w.Spec.Rejections, v1alpha1.SkillRejection{ContentHash: hashOf(letter)})
	}
}

func expires(after time.Duration) step {
	return func(w *world) { w.Spec.Approval.ExpirationTime = new(metav1.NewTime(t0.Add(after))) }
}

func passes(d time.Duration) step { return func(w *world) { w.Now = w.Now.Add(d) } }

func policyGets(tools ...v1alpha1.ToolName) step {
	return func(w *world) { w.Spec.Policy.Tools = tools }
}

func noSource(w *world) { w.Spec.Source, w.Source = nil, nil }

func unreadable(w *world) { w.Source = nil }

func noFacts(w *world) {
	for i := range w.Revisions {
		w.Revisions[i].Status.ReviewTime = nil
	}
}

func setAside(w *world) {
	for i := range w.Revisions {
		w.Revisions[i].Status.ReviewStarts = maxReviewStarts
	}
}

// Every row of the table of states, and every event in every state.
func TestDecide(t *testing.T) {
	t.Parallel()
	const (
		pending, reviewed, approved = v1alpha1.SkillPendingReview, v1alpha1.SkillAwaitingApproval, v1alpha1.SkillApproved
		again, rejected, revoked    = v1alpha1.SkillNeedsReapproval, v1alpha1.SkillRejected, v1alpha1.SkillRevoked
	)
	for name, tt := range map[string]struct {
		steps []step
		state v1alpha1.SkillState
		// reason of the verdict, revision that it is about, and the approved content.
		reason, revision, approved string
	}{
		"nothing":                            {nil, pending, v1alpha1.ReasonNoRevision, "", ""},
		"new, not looked at":                 {[]step{does(gives("a"), noFacts)}, pending, v1alpha1.ReasonReviewing, "a", ""},
		"new, set aside":                     {[]step{does(gives("a"), noFacts, setAside)}, pending, v1alpha1.ReasonReviewSetAside, "a", ""},
		"new, of a run":                      {[]step{noSource, does(proposes("a"), noFacts)}, pending, v1alpha1.ReasonReviewing, "a", ""},
		"facts are gathered":                 {[]step{gives("a")}, reviewed, v1alpha1.ReasonAwaitingApproval, "a", ""},
		"facts of a run's":                   {[]step{noSource, proposes("a")}, reviewed, v1alpha1.ReasonAwaitingApproval, "a", ""},
		"approved":                           {[]step{gives("a"), approves("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"approved before the facts are":      {[]step{does(gives("a"), noFacts), approves("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"rejected":                           {[]step{gives("a"), rejects("a")}, rejected, v1alpha1.ReasonSkillRejected, "a", ""},
		"rejected, and not looked at":        {[]step{does(gives("a"), noFacts), rejects("a")}, rejected, v1alpha1.ReasonSkillRejected, "a", ""},
		"rejected, then approved":            {[]step{gives("a"), rejects("a"), approves("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"rejected, then changed":             {[]step{gives("a"), rejects("a"), gives("b")}, reviewed, v1alpha1.ReasonAwaitingApproval, "b", ""},
		"rejected, then changed back":        {[]step{gives("a"), rejects("a"), gives("b"), gives("a")}, rejected, v1alpha1.ReasonSkillRejected, "a", ""},
		"something else is rejected":         {[]step{gives("a"), rejects("z")}, reviewed, v1alpha1.ReasonAwaitingApproval, "a", ""},
		"changed before approval":            {[]step{gives("a"), gives("b")}, reviewed, v1alpha1.ReasonAwaitingApproval, "b", ""},
		"source goes before approval":        {[]step{gives("a"), noSource}, reviewed, v1alpha1.ReasonAwaitingApproval, "a", ""},
		"the same again":                     {[]step{gives("a"), approves("a"), gives("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"content changed":                    {[]step{gives("a"), approves("a"), gives("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"content changed, still":             {[]step{gives("a"), approves("a"), gives("b"), gives("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"content changed, unreadable since":  {[]step{gives("a"), approves("a"), gives("b"), unreadable}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"content changed and approved":       {[]step{gives("a"), approves("a"), gives("b"), approves("b")}, approved, v1alpha1.ReasonSkillApproved, "b", "b"},
		"content changed and changed back":   {[]step{gives("a"), approves("a"), gives("b"), gives("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"content changed and rejected":       {[]step{gives("a"), approves("a"), gives("b"), rejects("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"content changed, no approval":       {[]step{gives("a"), approves("a"), gives("b"), withdraws}, reviewed, v1alpha1.ReasonAwaitingApproval, "b", ""},
		"changed under way":                  {[]step{gives("a"), does(approves("a"), gives("b"))}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"changed under way, still":           {[]step{gives("a"), does(approves("a"), gives("b")), gives("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"changed under way, for a policy":    {[]step{gives("a"), does(approves("a"), gives("b")), policyGets("bash"), policyGets("read")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"changed under way, and back":        {[]step{gives("a"), does(approves("a"), gives("b")), gives("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"changed and kept after revocation":  {[]step{gives("a"), approves("a"), gives("b"), revokes, approves("a")}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"changed and kept for a reason":      {[]step{gives("a"), approves("a"), gives("b"), approvesWith("a", "b is broken")}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"changed, and approved as before":    {[]step{gives("a"), approvesWith("a", "x"), gives("b"), approvesWith("a", "x")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"kept, and it changes again":         {[]step{gives("a"), approves("a"), gives("b"), approvesWith("a", "x"), gives("c")}, again, v1alpha1.ReasonContentChanged, "c", ""},
		"kept, and it changes on and back":   {[]step{gives("a"), approves("a"), gives("b"), approvesWith("a", "x"), gives("c"), gives("b")}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"kept, back, and the change again":   {[]step{gives("a"), approves("a"), gives("b"), approvesWith("a", "x"), gives("a"), gives("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"kept, as it changes under way":      {[]step{gives("a"), approves("a"), gives("b"), does(approvesWith("a", "x"), gives("c"))}, again, v1alpha1.ReasonContentChanged, "c", ""},
		"kept, and the policy changes":       {[]step{gives("a"), approves("a"), gives("b"), approvesWith("a", "x"), policyGets("bash")}, again, v1alpha1.ReasonPolicyChanged, "b", ""},
		"a note that the status has not":     {[]step{gives("a"), approvesWith("a", "read it"), does(gives("b"), forgets)}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"no note is known, after the change": {[]step{gives("a"), approvesWith("a", "read it"), gives("b"), forgets}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"no note is known, and it goes on":   {[]step{gives("a"), approvesWith("a", "read it"), gives("b"), forgets, does(gives("c"), forgets)}, again, v1alpha1.ReasonContentChanged, "c", ""},
		"known again, and then another":      {[]step{gives("a"), approvesWith("a", "x"), gives("b"), forgets, approvesWith("a", "y")}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"the note is taken out":              {[]step{gives("a"), approvesWith("a", "x"), gives("b"), approves("a")}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"a note for what nobody approved":    {[]step{gives("a"), approves("a"), gives("b"), approvesWith("z", "x")}, again, v1alpha1.ReasonContentUnknown, "b", ""},
		"changed and kept with a new end":    {[]step{gives("a"), does(approves("a"), expires(time.Minute)), gives("b"), passes(time.Hour), does(approves("a"), expires(2*time.Hour))}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"source goes away":                   {[]step{gives("a"), approves("a"), noSource}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"source goes away and another comes": {[]step{gives("a"), approves("a"), noSource, gives("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"source cannot be read":              {[]step{gives("a"), approves("a"), unreadable}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"a source for what a run wrote":      {[]step{noSource, proposes("a"), approves("a"), gives("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"the source takes the run's":         {[]step{gives("a"), approves("a"), proposes("b"), approves("b"), gives("b")}, approved, v1alpha1.ReasonSkillApproved, "b", "b"},
		"the source takes it, not approved":  {[]step{gives("a"), approves("a"), proposes("b"), gives("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"policy changed":                     {[]step{gives("a"), approves("a"), policyGets("read", "bash")}, again, v1alpha1.ReasonPolicyChanged, "a", ""},
		"policy narrowed":                    {[]step{gives("a"), approves("a"), policyGets()}, again, v1alpha1.ReasonPolicyChanged, "a", ""},
		"policy changed back":                {[]step{gives("a"), approves("a"), policyGets("bash"), policyGets("read")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"policy changed and approved":        {[]step{gives("a"), approves("a"), does(policyGets("bash"), approves("a"))}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"policy and content changed":         {[]step{gives("a"), approves("a"), does(policyGets("bash"), gives("b"))}, again, v1alpha1.ReasonPolicyChanged, "b", ""},
		"a run proposes":                     {[]step{gives("a"), approves("a"), proposes("b")}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"a run proposes, not looked at":      {[]step{gives("a"), approves("a"), does(proposes("b"), noFacts)}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"a run proposes, approved":           {[]step{gives("a"), approves("a"), proposes("b"), approves("b")}, approved, v1alpha1.ReasonSkillApproved, "b", "b"},
		"a run proposes, then a change":      {[]step{gives("a"), approves("a"), proposes("b"), approves("b"), gives("c")}, again, v1alpha1.ReasonContentChanged, "c", ""},
		"a run proposes, rejected":           {[]step{gives("a"), approves("a"), proposes("b"), rejects("b")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"a run proposes to what is not":      {[]step{gives("a"), proposes("b")}, reviewed, v1alpha1.ReasonAwaitingApproval, "b", ""},
		"a run's is rejected, no source":     {[]step{noSource, proposes("a"), proposes("b"), rejects("b")}, rejected, v1alpha1.ReasonSkillRejected, "b", ""},
		"a run proposes after a change":      {[]step{gives("a"), approves("a"), gives("b"), proposes("c")}, again, v1alpha1.ReasonContentChanged, "c", ""},
		"back to an older one":               {[]step{gives("a"), approves("a"), gives("b"), approves("b"), approves("a")}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"back, then the source too":          {[]step{gives("a"), approves("a"), gives("b"), approves("b"), approves("a"), gives("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"back, and the source comes again":   {[]step{gives("a"), approves("a"), gives("b"), approves("b"), approves("a"), gives("a"), gives("b")}, again, v1alpha1.ReasonContentChanged, "b", ""},
		"back, then another change":          {[]step{gives("a"), approves("a"), gives("b"), approves("b"), approves("a"), gives("c")}, again, v1alpha1.ReasonContentChanged, "c", ""},
		"back from a run's":                  {[]step{noSource, proposes("a"), proposes("b"), approves("b"), approves("a")}, approved, v1alpha1.ReasonSkillApproved, "b", "a"},
		"revoked":                            {[]step{gives("a"), approves("a"), revokes}, revoked, v1alpha1.ReasonSkillRevoked, "a", ""},
		"revoked and changed":                {[]step{gives("a"), approves("a"), revokes, gives("b")}, revoked, v1alpha1.ReasonSkillRevoked, "b", ""},
		"revoked and approved":               {[]step{gives("a"), approves("a"), revokes, approves("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"revoked, and its time is over":      {[]step{gives("a"), does(approves("a"), expires(0)), revokes}, revoked, v1alpha1.ReasonSkillRevoked, "a", ""},
		"revoked and rejected":               {[]step{gives("a"), approves("a"), does(revokes, rejects("a"))}, revoked, v1alpha1.ReasonSkillRevoked, "a", ""},
		"approval is taken away":             {[]step{gives("a"), approves("a"), withdraws}, reviewed, v1alpha1.ReasonAwaitingApproval, "a", ""},
		"in its time":                        {[]step{gives("a"), does(approves("a"), expires(time.Hour)), passes(time.Hour - time.Second)}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"expired":                            {[]step{gives("a"), does(approves("a"), expires(time.Hour)), passes(time.Hour)}, again, v1alpha1.ReasonApprovalExpired, "a", ""},
		"expired, and more is wrong":         {[]step{gives("a"), does(approves("a"), expires(time.Hour)), does(gives("b"), policyGets(), passes(time.Hour))}, again, v1alpha1.ReasonApprovalExpired, "b", ""},
		"expired and approved":               {[]step{gives("a"), does(approves("a"), expires(0)), approves("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"carried before it is read":          {[]step{approves("a")}, pending, v1alpha1.ReasonContentUnknown, "", ""},
		"carried, read as approved":          {[]step{approves("a"), gives("a")}, approved, v1alpha1.ReasonSkillApproved, "a", "a"},
		"carried, read as something else":    {[]step{approves("a"), gives("b")}, again, v1alpha1.ReasonContentUnknown, "b", ""},
		"carried, with another policy":       {[]step{does(approves("a"), policyGets()), gives("a")}, again, v1alpha1.ReasonPolicyChanged, "a", ""},
		"carried with the next content":      {[]step{gives("a"), approves("a"), approves("b"), gives("b")}, approved, v1alpha1.ReasonSkillApproved, "b", "b"},
		"carried too early":                  {[]step{gives("a"), approves("a"), approves("b")}, again, v1alpha1.ReasonContentUnknown, "a", ""},
		"in one with the next content":       {[]step{gives("a"), approves("a"), does(gives("b"), approves("b")), gives("a")}, again, v1alpha1.ReasonContentChanged, "a", ""},
		"the hash of another skill":          {[]step{gives("a"), approves("z")}, again, v1alpha1.ReasonContentUnknown, "a", ""},
		"no source, the hash of another":     {[]step{noSource, approves("z")}, again, v1alpha1.ReasonContentUnknown, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.look()
			for _, s := range tt.steps {
				s(w)
				w.look()
			}
			v := w.verdict
			if v.State != tt.state || v.Reason != tt.reason || nameOf(v.Revision) != tt.revision || nameOf(v.Approved) != tt.approved {
				t.Errorf("%s/%s, revision %q, approved %q: %s", v.State, v.Reason, nameOf(v.Revision), nameOf(v.Approved), v.Message)
			}
			w.check(t)
		})
	}
}

func nameOf(r *v1alpha1.SkillRevision) string {
	if r == nil {
		return ""
	}
	return strings.TrimPrefix(r.Name, "mail-")
}

// check checks the properties that every verdict must have.
func (w *world) check(t *testing.T) {
	t.Helper()
	v, a := w.verdict, w.Spec.Approval
	if v.Message == "" || len(v.Message) > maxVerdict || strings.Contains(v.Message, "\n") || !strings.HasSuffix(v.Message, ".") {
		t.Errorf("message %q", v.Message)
	}
	if (v.State == v1alpha1.SkillApproved) != (v.Approved != nil) {
		t.Errorf("%s, and approved is %v", v.State, v.Approved)
	}
	if v.Approved != nil && (v.Approved.Spec.ContentHash != a.ContentHash || a.PolicyHash != PolicyHash(&w.Spec.Policy) || a.Decision != v1alpha1.SkillDecisionApproved ||
		a.ExpirationTime != nil && !w.Now.Before(a.ExpirationTime.Time) || !Sound(v.Approved)) {
		t.Errorf("%s is approved by %+v", v.Approved.Name, a)
	}
	if v.Approved != nil && (v.Record == nil || v.Record.ContentHash != a.ContentHash || v.Record.RevisionName != v.Approved.Name || v.Record.PolicyHash != a.PolicyHash) {
		t.Errorf("of the approval %+v it keeps %+v", a, v.Record)
	}
	if wakes := !v.WakeAt.IsZero(); wakes && (a == nil || !v.WakeAt.Equal(a.ExpirationTime.Time) || !w.Now.Before(v.WakeAt)) || v.Approved != nil && a.ExpirationTime != nil && !wakes {
		t.Errorf("it wakes at %s", v.WakeAt)
	}
	// Looked at again, in another order and later, nothing is another.
	before := Decide(w.Observation)
	w.Revisions = slices.Clone(w.Revisions)
	rand.Shuffle(len(w.Revisions), func(i, j int) { w.Revisions[i], w.Revisions[j] = w.Revisions[j], w.Revisions[i] })
	w.Now = w.Now.Add(time.Nanosecond)
	w.look()
	if diff := cmp.Diff(before, w.verdict); diff != "" {
		t.Errorf("seen again (-before +after):\n%s", diff)
	}
}

// In every order of events, the approved content is the one that a person approved.
func TestDecideInAnyOrder(t *testing.T) {
	t.Parallel()
	events := []step{
		gives("a"), gives("b"), gives("c"), proposes("p"), proposes("q"), approves("a"), approvesWith("a", "x"), approves("b"), approves("p"), approves("z"), rejects("b"), rejects("p"),
		policyGets("read"), policyGets("bash"), noSource, unreadable, passes(10 * time.Minute), noFacts,
		func(w *world) {
			if w.Spec.Approval != nil {
				revokes(w)
			}
		},
		func(w *world) {
			if w.Spec.Approval != nil {
				expires(w.Now.Sub(t0) + 15*time.Minute)(w)
			}
		},
		withdraws,
	}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld()
		for range 30 {
			events[random.IntN(len(events))](w)
			if random.IntN(3) == 0 {
				continue // The operator looks only now and then.
			}
			w.look()
			w.check(t)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

func TestDecideIgnoresWhatIsNotSound(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.SkillRevision){
		"other files than its hash": func(r *v1alpha1.SkillRevision) { r.Spec.Files = content("b") },
		"another hash":              func(r *v1alpha1.SkillRevision) { r.Spec.ContentHash = hashOf("b") },
		"no files":                  func(r *v1alpha1.SkillRevision) { r.Spec.Files = nil },
		"it is being deleted":       func(r *v1alpha1.SkillRevision) { r.DeletionTimestamp = new(metav1.NewTime(t0)) },
	} {
		w := newWorld()
		does(gives("a"), approves("a"))(w)
		change(&w.Revisions[0])
		w.look()
		if v := w.verdict; v.State != v1alpha1.SkillNeedsReapproval || v.Reason != v1alpha1.ReasonContentUnknown || v.Revision != nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestDecideSaysWhatToDo(t *testing.T) {
	t.Parallel()
	files := func(letter string, paths ...string) (list []File) {
		for _, p := range paths {
			list = append(list, File{Path: p, Content: []byte(letter)})
		}
		return list
	}
	base := append(files("same", ManifestName), files("old", "a", "b", "c")...)
	for want, now := range map[string][]File{
		"(a changed, d added, b deleted, c deleted)": append(files("same", ManifestName), files("new", "a", "d")...),
		"(a changed, b changed, c changed, d added, e added, and 2 more)": append(files("same", ManifestName),
			append(files("new", "a", "b", "c"), files("new", "d", "e", "f", "g")...)...),
	} {
		w := newWorld()
		was, is := revision("a", 0), revision("b", 1)
		was.Spec.Files, was.Spec.ContentHash = Listed(base), ContentHash(base)
		is.Spec.Files, is.Spec.ContentHash = Listed(now), ContentHash(now)
		w.Revisions, w.Source = []v1alpha1.SkillRevision{was}, &SourceState{ContentHash: was.Spec.ContentHash}
		w.look()
		approves("a")(w)
		w.Spec.Approval.ContentHash = was.Spec.ContentHash
		w.look()
		w.Revisions, w.Source = append(w.Revisions, is), &SourceState{ContentHash: is.Spec.ContentHash}
		w.look()
		if m := w.verdict.Message; !strings.Contains(m, want) || !strings.Contains(m, "approve "+is.Spec.ContentHash+", take the change back, or approve the old ones") {
			t.Errorf("%s\nwant %s", m, want)
		}
	}
	w := newWorld()
	does(gives("a"), approves("a"), policyGets("bash"))(w)
	w.look()
	if m := w.verdict.Message; !strings.Contains(m, w.Spec.Approval.PolicyHash) || !strings.Contains(m, PolicyHash(&w.Spec.Policy)) {
		t.Error(m)
	}
	does(approves("a"), proposes("b"))(w)
	w.look()
	if m := w.verdict.Message; !strings.Contains(m, "The run run-b proposes "+hashOf("b")+": look at the SkillRevision mail-b") {
		t.Error(m)
	}
	long := revision("c", 9)
	for i := range 200 {
		long.Spec.Files = append(long.Spec.Files, v1alpha1.RevisionFile{Path: fmt.Sprintf("references/%s%d", strings.Repeat("x", 240), i)})
	}
	long.Spec.ContentHash = HashOf(long.Spec.Files)
	w.Revisions, w.Source = append(w.Revisions, long), &SourceState{ContentHash: long.Spec.ContentHash}
	w.look()
	if m := w.verdict.Message; w.verdict.Reason != v1alpha1.ReasonContentChanged || len(m) > maxVerdict || !strings.Contains(m, long.Spec.ContentHash) {
		t.Errorf("%d bytes: %s", len(m), m)
	}
}

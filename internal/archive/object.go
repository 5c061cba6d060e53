// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	strictjson "sigs.k8s.io/json"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Key is the name of a run's archive in a bucket: <namespace>/<run>/<uid>.jsonl.
func Key(run *v1alpha1.MotorRun) string {
	return segment(run.Namespace) + "/" + segment(run.Name) + "/" + segment(string(run.UID)) + ".jsonl"
}

// segment prevents a name from reaching into another folder. Names and UIDs as the API server assigns them pass unchanged.
func segment(s string) string {
	s = url.PathEscape(s)
	if strings.HasPrefix(s, ".") {
		s = "%2E" + s[1:]
	}
	return s
}

// encode returns the bytes of an object. Markup is not escaped, which would take up to six times the space.
func encode(o any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodeRun omits the fields that go on changing after the run has ended. The same run must produce the same bytes: otherwise a manager
// that was killed before it could record the archive would not recognize its own archive.
func encodeRun(run *v1alpha1.MotorRun) ([]byte, error) {
	o := *run
	o.TypeMeta = typeMeta(KindRun)
	o.ObjectMeta = lasting(&run.ObjectMeta)
	o.Status.Archive = nil
	o.Status.ObservedGeneration = 0
	o.Status.Conditions = slices.Clone(o.Status.Conditions)
	for i := range o.Status.Conditions {
		o.Status.Conditions[i].ObservedGeneration = 0
	}
	return encode(&o)
}

func encodeStep(step *v1alpha1.MotorStep) ([]byte, error) {
	o := *step
	o.TypeMeta = typeMeta(KindStep)
	o.ObjectMeta = lasting(&step.ObjectMeta)
	return encode(&o)
}

// StepDigest is the digest of a step in a Manifest.
func StepDigest(step *v1alpha1.MotorStep) (string, error) {
	object, err := encodeStep(step)
	return digestOf(object), err
}

// heldDigest is the digest of a step in an archive as this version would write it. A version that knows fewer fields omits their empty
// values; an archive that it wrote and could not record is of the same step all the same. A step with more content than this version
// writes, or other content, or a field twice, has the digest of its own bytes.
func heldDigest(object []byte) string {
	var step v1alpha1.MotorStep
	var was, is any
	if read(object, &step) != nil || read(object, &was) != nil {
		return digestOf(object)
	}
	again, err := encodeStep(&step)
	if err != nil || read(again, &is) != nil || !isPartOf(was, is) {
		return digestOf(object)
	}
	return digestOf(again)
}

// read reads an object of a line as the API server does. It refuses a field that is there twice, or has its name in other letters.
// Otherwise a reader that takes the first one would see another object than a reader that takes the last.
func read(object []byte, into any) error {
	twice, err := strictjson.UnmarshalStrict(object, into, strictjson.DisallowDuplicateFields)
	return errors.Join(append(twice, err)...)
}

// isPartOf reports whether a JSON value is another one, except for fields that are missing.
func isPartOf(part, whole any) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for key, value := range p {
			other, has := w[key]
			ok = ok && has && isPartOf(value, other)
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		return ok && slices.EqualFunc(p, w, isPartOf)
	default:
		return part == whole
	}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
}

// lasting is the metadata about the object itself, and not about its storage.
func lasting(m *metav1.ObjectMeta) metav1.ObjectMeta {
	l := metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, CreationTimestamp: m.CreationTimestamp,
		Labels: m.Labels, OwnerReferences: m.OwnerReferences,
	}
	if len(m.Annotations) > 0 {
		l.Annotations = maps.Clone(m.Annotations)
		// kubectl's copy of the whole spec.
		delete(l.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	return l
}

// Same reports whether the found archive has the expected content. It returns nil, or an error that wraps ErrDifferent and names the first
// difference.
func (m *Manifest) Same(found *Manifest) error {
	if !sameRun(m.Run, found.Run) {
		return fmt.Errorf("%w: its first line is another run, or another end of this one", ErrDifferent)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Steps)) {
		if digest, ok := found.Steps[name]; !ok || digest != m.Steps[name] {
			return fmt.Errorf("%w: step %s is not in it as it is in the cluster", ErrDifferent, name)
		}
	}
	if len(found.Steps) != len(m.Steps) {
		return fmt.Errorf("%w: it has %d steps, and the run has %d", ErrDifferent, len(found.Steps), len(m.Steps))
	}
	return nil
}

// sameRun accepts changes of the run that a client may make after it has ended.
func sameRun(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var runs [2]v1alpha1.MotorRun
	for i, data := range [][]byte{a, b} {
		r := &runs[i]
		var whole any
		// Only the second decoding checks the fields that the type has as raw JSON.
		if read(data, r) != nil || read(data, &whole) != nil {
			return false
		}
		r.Labels, r.Annotations, r.OwnerReferences = nil, nil, nil
		r.Spec.Responses = nil
		r.Spec.Cancel, r.Spec.Suspend, r.Spec.TTLSecondsAfterFinished = false, false, nil
		r.Spec.CancelledBy, r.Spec.SuspendedBy = "", ""
	}
	return equality.Semantic.DeepEqual(runs[0], runs[1])
}

// order is that of the steps in a chain.
func order(a, b heading) int {
	return cmp.Or(cmp.Compare(a.Spec.Attempt, b.Spec.Attempt), cmp.Compare(a.Spec.Index, b.Spec.Index),
		cmp.Compare(a.Metadata.Name, b.Metadata.Name))
}

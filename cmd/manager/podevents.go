// SPDX-License-Identifier: Apache-2.0

package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// maxNote is below the 1024 bytes that the events API accepts as a note.
const maxNote = 1000

// podEvents reports problems of the manager itself, not of a run, as Events of this replica's Pod.
type podEvents struct {
	recorder events.EventRecorder
	pod      *corev1.Pod
}

func newPodEvents(recorder events.EventRecorder, o options) podEvents {
	return podEvents{recorder, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.podName, UID: types.UID(o.podUID)},
	}}
}

func (e podEvents) tell(kind, reason, action, note string) {
	e.recorder.Eventf(e.pod, nil, kind, reason, action, "%s", text.CutBytes(text.Printable(note), maxNote))
}

// heartbeat reports that a heartbeat cannot be written, or, with a nil err, that one was written after that.
func (e podEvents) heartbeat(err error) {
	const action = "KeepTime"
	if err == nil {
		e.tell(corev1.EventTypeNormal, v1alpha1.EventHeartbeatWritten, action, "The heartbeat of the leader is written again. Deadlines pass, and the time without one counts for none.")
		return
	}
	e.tell(corev1.EventTypeWarning, v1alpha1.EventHeartbeatFailing, action,
		"The leader cannot write its heartbeat to the Lease motorcortex-time of its namespace, so no deadline passes and no run ends by its time. "+
			"See that the manager may update that Lease, and that the API server can write: "+err.Error())
}

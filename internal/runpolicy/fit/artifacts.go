// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// MaxBucketBytes bounds the artifacts of a run in the bucket, and the artifacts from there that a run gets as inputs. One has
	// toolapi.MaxArtifactBytes at most.
	MaxBucketBytes = 256 << 20
	// MaxListedBytes bounds the artifacts in a status, in bytes of JSON. The steps have all of them.
	MaxListedBytes = 6 << 10
)

// ListedBytes returns the part of MaxListedBytes that an artifact needs.
func ListedBytes(a *v1alpha1.Artifact) int { return jsonSize(a) + len(",") }

// ShowArtifacts returns as many of the artifacts as fit into a status, in their order, and the number of the others. Retained artifacts come before
// those that are not.
func ShowArtifacts(list *v1alpha1.ArtifactList) (shown []v1alpha1.Artifact, omitted int32) {
	if list == nil {
		return nil, 0
	}
	shown = fitArtifacts(list.Files, MaxListedBytes)
	return shown, list.Omitted + int32(len(list.Files)-len(shown))
}

// fitArtifacts returns the artifacts that fit into that many bytes of JSON.
func fitArtifacts(files []v1alpha1.Artifact, room int) (shown []v1alpha1.Artifact) {
	take := make([]bool, len(files))
	for _, skipped := range []bool{false, true} {
		for i := range files {
			if (files[i].Skipped != "") != skipped {
				continue
			}
			if n := ListedBytes(&files[i]); n <= room {
				take[i], room = true, room-n
			}
		}
	}
	for i := range files {
		if take[i] {
			shown = append(shown, files[i])
		}
	}
	return shown
}

// fewerArtifacts drops artifacts until the status fits, when everything else is as short as it can be.
func fewerArtifacts(st *v1alpha1.MotorRunStatus) {
	files := &st.Artifacts
	if st.Result != nil {
		files = &st.Result.Artifacts
	}
	room := MaxStatusBytes - jsonSize(st)
	for i := range *files {
		room += jsonSize(&(*files)[i]) + len(",")
	}
	fitted := fitArtifacts(*files, room)
	if st.Result != nil {
		r := *st.Result
		r.ArtifactsOmitted += int32(len(*files) - len(fitted))
		r.Artifacts = fitted
		st.Result = &r
		return
	}
	*files = fitted
}

// artifactsOf returns the artifacts of a run: those of its result if it has ended, or else those of its last pause.
func artifactsOf(run *v1alpha1.MotorRun) []v1alpha1.Artifact {
	if run.Status.Result != nil {
		return run.Status.Result.Artifacts
	}
	return run.Status.Artifacts
}

// maxNamed bounds the artifacts that a message names if the requested one does not exist.
const maxNamed = 5

// ArtifactInput finds the artifact for a later run among those of the run that has it. problem is the reason why it cannot be an input, and what to
// do about that.
func ArtifactInput(from *v1alpha1.MotorRun, path string, bucket bool) (a *v1alpha1.Artifact, problem string) {
	list := artifactsOf(from)
	i := slices.IndexFunc(list, func(a v1alpha1.Artifact) bool { return a.Path == path })
	if i < 0 {
		return nil, fmt.Sprintf("the MotorRun %s has no artifact %q: %s", from.Name, path, artifactNames(from, list))
	}
	a = &list[i]
	// An artifact in the bucket reaches the sandbox in parts.
	most := int64(toolapi.MaxFileBytes)
	if a.ConfigMapName == "" {
		most = toolapi.MaxInputBytes
	}
	switch {
	case a.Skipped != "":
		problem = fmt.Sprintf("the MotorRun %s has not kept its artifact %q (%s): have it made in another way", from.Name, path, a.Skipped)
	case a.Size > most:
		problem = fmt.Sprintf("the artifact %q of the MotorRun %s has %d bytes, and a file of a run may have %d: have it split",
			path, from.Name, a.Size, most)
	case a.ConfigMapName == "" && !bucket:
		problem = fmt.Sprintf("the artifact %q of the MotorRun %s is in a bucket, and the manager has none: start it with --archive-bucket", path, from.Name)
	}
	return a, problem
}

func artifactNames(from *v1alpha1.MotorRun, list []v1alpha1.Artifact) string {
	var names []string
	for _, a := range list[:min(len(list), maxNamed)] {
		names = append(names, fmt.Sprintf("%q", a.Path))
	}
	switch {
	case len(list) == 0 && from.Status.Result == nil:
		return "it has none so far"
	case len(list) == 0:
		return "it has left none behind"
	case len(list) > maxNamed:
		names = append(names, fmt.Sprintf("and %d more", len(list)-maxNamed))
	}
	return "it has " + strings.Join(names, ", ")
}

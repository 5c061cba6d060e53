// SPDX-License-Identifier: Apache-2.0

package harvest

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// changedSandbox is a tool server with files of the result, and with changes.
type changedSandbox struct {
	features []string
	files    []toolapi.ArtifactFile
	changes  toolapi.Changes
	// refused is the error that it returns instead.
	refused *toolapi.Error
	// garbled is true if it returns something else.
	garbled bool
	asked   atomic.Int32
}

func (s *changedSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := any(toolapi.Hello{PodUID: "pod", Features: s.features})
	switch name, isFile := strings.CutPrefix(r.URL.Path, toolapi.PathArtifacts+"/"); {
	case isFile:
		answer = toolapi.Chunk{Content: []byte(name), Size: int64(len(name))}
	case r.URL.Path == toolapi.PathArtifacts:
		answer = toolapi.Artifacts{Files: s.files}
	case r.URL.Path == toolapi.PathChanges:
		s.asked.Add(1)
		answer = s.changes
		if s.garbled {
			answer = "garbled"
		}
		if s.refused != nil {
			w.WriteHeader(http.StatusInternalServerError)
			answer = s.refused
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func diffOf(path string, lines ...string) []byte {
	return []byte("# Left out, 0\n\ndiff --git a/" + path + " b/" + path + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + path + "\n@@ -0,0 +1,1 @@\n+" + strings.Join(lines, "\n+") + "\n")
}

// packedDiff is the diff of a file whose content is packed.
func packedDiff(path, content string) []byte {
	var packed bytes.Buffer
	z, _ := zlib.NewWriterLevel(&packed, zlib.BestCompression)
	_, _ = z.Write([]byte(content))
	_ = z.Close()
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	lines := ""
	for line := range slices.Chunk(packed.Bytes(), 26) {
		lines += string(rune('A' + len(line) - 1))
		for four := range slices.Chunk(append(slices.Clip(line), make([]byte, -len(line)&3)...), 4) {
			n := binary.BigEndian.Uint32(four)
			for _, by := range []uint32{85 * 85 * 85 * 85, 85 * 85 * 85, 85 * 85, 85, 1} {
				lines += string(digits[n/by%85])
			}
		}
		lines += "\n"
	}
	return fmt.Appendf(nil, "diff --git a/%s b/%s\nindex 0..1 100644\nGIT binary patch\nliteral %d\n%s\n", path, path, len(content), lines)
}

func TestChangesAreAnArtifact(t *testing.T) {
	t.Parallel()
	_, values := enginetest.Secrets()
	without := withoutChanges()
	own := toolapi.ArtifactFile{Path: "artifacts/a", Size: 11}
	left := []toolapi.LeftOut{{Path: "big " + values["api_key"], Why: "it has 5 bytes"}, {Path: "b", Why: "x"}}
	const sum = "golang.org/x/oauth2/authkey h1:dnDm7JmhM45NNpd8FDDeLhK6FwqbOlmRMAbCdEfGhIj"
	for name, tt := range map[string]struct {
		sandbox *changedSandbox
		change  func(*v1alpha1.MotorRun)
		// want is each path with = if it is stored, or ! and why not, and message is its message.
		want, message string
		asked         int32
	}{
		"a diff":                   {&changedSandbox{changes: toolapi.Changes{Diff: diffOf("a", "x")}}, nil, "workspace.diff=", "", 1},
		"beside a file":            {&changedSandbox{changes: toolapi.Changes{Diff: diffOf("a", "x")}, files: []toolapi.ArtifactFile{own}}, nil, "artifacts/a= workspace.diff=", "", 1},
		"no change":                {&changedSandbox{}, nil, "", "", 1},
		"the last release":         {&changedSandbox{features: without, files: []toolapi.ArtifactFile{own}}, nil, "artifacts/a=", "", 0},
		"artifacts alone":          {&changedSandbox{changes: toolapi.Changes{Diff: diffOf("a", "x")}}, func(r *v1alpha1.MotorRun) { r.Spec.Keep = v1alpha1.KeepArtifacts }, "", "", 0},
		"nothing":                  {&changedSandbox{files: []toolapi.ArtifactFile{own}}, func(r *v1alpha1.MotorRun) { r.Spec.Keep = v1alpha1.KeepNothing }, "", "", 0},
		"a review":                 {&changedSandbox{}, func(r *v1alpha1.MotorRun) { r.Spec.SkillReview = true }, "", "", 0},
		"a credential":             {&changedSandbox{changes: toolapi.Changes{Diff: diffOf("a", values["api_key"])}}, nil, "workspace.diff!SecretFound", "credential", 1},
		"what looks like a key":    {&changedSandbox{changes: toolapi.Changes{Diff: diffOf("a", enginetest.AWSKey)}}, nil, "workspace.diff!SecretFound", "aws-access-token, line 8", 1},
		"a packed file":            {&changedSandbox{changes: toolapi.Changes{Diff: packedDiff("a.dat", "a\x00b")}}, nil, "workspace.diff=", "", 1},
		"a packed key":             {&changedSandbox{changes: toolapi.Changes{Diff: packedDiff("logo.bin", enginetest.AWSKey)}}, nil, "workspace.diff!SecretFound", "aws-access-token, line 4", 1},
		"a packed credential":      {&changedSandbox{changes: toolapi.Changes{Diff: packedDiff("a.png", "\x00"+values["api_key"])}}, nil, "workspace.diff!SecretFound", "credential, line 4", 1},
		"what is packed otherwise": {&changedSandbox{changes: toolapi.Changes{Diff: []byte(strings.Replace(string(packedDiff("a", "a\x00b")), "literal 3", "delta 3", 1))}}, nil, "workspace.diff!SecretFound", "packed-unreadable, line 4", 1},
		"a lock file":              {&changedSandbox{changes: toolapi.Changes{Diff: diffOf("go.sum", sum)}}, nil, "workspace.diff=", "", 1},
		"what is no lock file":     {&changedSandbox{changes: toolapi.Changes{Diff: diffOf("notes", sum)}}, nil, "workspace.diff!SecretFound", "generic-api-key, line 8", 1},
		"nothing that is shown":    {&changedSandbox{changes: toolapi.Changes{LeftOut: left, Omitted: 3}}, nil, "workspace.diff!Unreadable", "4 more, and big <credential:api_key>: it has 5 bytes", 1},
		"something else":           {&changedSandbox{garbled: true}, nil, "workspace.diff!Unreadable", "something else than a diff", 1},
		"a refusal":                {&changedSandbox{refused: &toolapi.Error{Code: toolapi.ErrInternal, Message: "no " + values["api_key"]}}, nil, "workspace.diff!Unreadable", "no <credential:api_key>", 1},
		"another file of its name": {&changedSandbox{files: []toolapi.ArtifactFile{{Path: "workspace.diff", Size: 14}}}, nil, "workspace.diff=", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.sandbox.features == nil {
				tt.sandbox.features = toolapi.Features()
			}
			a, _ := artifactsAt(t, tt.sandbox)
			if tt.change != nil {
				tt.change(a.Env.Run)
			}
			list, err := a.Collect(t.Context(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			message := ""
			for _, f := range filesOf(list) {
				if f.Skipped != "" {
					got, message = append(got, f.Path+"!"+string(f.Skipped)), f.Message
					continue
				}
				got = append(got, f.Path+"=")
				var cm corev1.ConfigMap
				if err := a.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: a.Env.Run.Namespace, Name: f.ConfigMapName}, &cm); err != nil {
					t.Errorf("%+v: %v", f, err)
				}
				if content, _ := runenv.ValueOf(&cm, runenv.ContentKey); toolapi.SHA256(content) != f.SHA256 {
					t.Errorf("%+v is kept as %q", f, content)
				}
				if f.Path == toolapi.DiffName && f.MediaType != "text/x-diff" {
					t.Errorf("%+v", f)
				}
			}
			if s := strings.Join(got, " "); s != tt.want || !strings.Contains(message, tt.message) || tt.message == "" && message != "" || tt.sandbox.asked.Load() != tt.asked {
				t.Errorf("%s, %q, asked %d times", s, message, tt.sandbox.asked.Load())
			}
		})
	}
}

func filesOf(list *v1alpha1.ArtifactList) []v1alpha1.Artifact {
	if list == nil {
		return nil
	}
	return list.Files
}

// The diff uses the limits, and the time, that the files of the model leave.
func TestChangesComeLast(t *testing.T) {
	t.Parallel()
	sandbox := &changedSandbox{features: toolapi.Features(), changes: toolapi.Changes{Diff: diffOf("a", "x")}}
	a, _ := artifactsAt(t, sandbox)
	full := a.newRoom()
	full.objects = maxObjectsBytes
	list := &v1alpha1.ArtifactList{}
	if err := a.addChanges(t.Context(), list, full); err != nil || len(list.Files) != 1 || list.Files[0].Skipped != v1alpha1.SkippedLimitReached {
		t.Errorf("%+v, %v", list, err)
	}
	var many []v1alpha1.Artifact
	for range toolapi.MaxArtifacts {
		many = append(many, v1alpha1.Artifact{Path: "artifacts/" + strings.Repeat("x", 100+len(many))})
	}
	list = &v1alpha1.ArtifactList{Files: many}
	if err := a.addChanges(t.Context(), list, a.newRoom()); err != nil || len(list.Files) != toolapi.MaxArtifacts+1 || list.Files[toolapi.MaxArtifacts].ConfigMapName == "" {
		t.Errorf("%+v, %v", list, err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, ErrTime)
	defer cancel()
	<-ctx.Done()
	list = &v1alpha1.ArtifactList{}
	if err := a.addChanges(ctx, list, a.newRoom()); err != nil || len(list.Files) != 1 || list.Files[0].Skipped != v1alpha1.SkippedUnreadable {
		t.Errorf("%+v, %v", list, err)
	}
	a.Recorded = &v1alpha1.ArtifactList{Files: []v1alpha1.Artifact{{Path: toolapi.DiffName, ConfigMapName: "before", Size: 3}}}
	list = &v1alpha1.ArtifactList{}
	if err := a.addChanges(ctx, list, a.newRoom()); err != nil || len(list.Files) != 1 || list.Files[0].ConfigMapName != "before" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestChangesTimeout(t *testing.T) {
	t.Parallel()
	if got := changesTimeout(t.Context()); got != toolapi.MaxChangesTimeoutMs {
		t.Errorf("without a deadline it is %d", got)
	}
	for left, want := range map[time.Duration]int32{time.Hour: toolapi.MaxChangesTimeoutMs, time.Second: 1000, 13 * time.Second: 10_000} {
		ctx, cancel := context.WithTimeout(context.Background(), left)
		if got := changesTimeout(ctx); got > want || got < want-500 {
			t.Errorf("with %s left it is %d", left, got)
		}
		cancel()
	}
}

// What is kept is from the web if the sandbox says so, or if anything in the sandbox may be: the sandbox is not believed when it says otherwise.
func TestProvenanceOfWhatIsKept(t *testing.T) {
	t.Parallel()
	const own, web = toolapi.ProvenanceInternal, toolapi.ProvenanceWeb
	for name, tt := range map[string]struct {
		file, changes toolapi.Provenance
		change        func(*Artifacts)
		want          string
	}{
		"nothing from the web":       {own, own, func(*Artifacts) {}, "artifacts/a=Internal workspace.diff=Internal"},
		"a file":                     {web, own, func(*Artifacts) {}, "artifacts/a=Web workspace.diff=Internal"},
		"the changes":                {own, web, func(*Artifacts) {}, "artifacts/a=Internal workspace.diff=Web"},
		"of the person, it says":     {toolapi.ProvenanceUser, toolapi.ProvenanceUser, func(*Artifacts) {}, "artifacts/a=Internal workspace.diff=Internal"},
		"the inputs were from there": {own, own, func(a *Artifacts) { a.Tainted = true }, "artifacts/a=Web workspace.diff=Web"},
		"the sandbox has a way there": {own, own, func(a *Artifacts) {
			a.Env.Run.Status.Egress = &v1alpha1.EgressStatus{Domains: []v1alpha1.Domain{"example.org"}}
		}, "artifacts/a=Web workspace.diff=Web"},
		"the way was never opened": {own, own, func(a *Artifacts) { a.Env.Run.Status.Egress = &v1alpha1.EgressStatus{} }, "artifacts/a=Internal workspace.diff=Internal"},
	} {
		sandbox := &changedSandbox{
			features: toolapi.Features(), files: []toolapi.ArtifactFile{{Path: "artifacts/a", Size: 11, Provenance: tt.file}},
			changes: toolapi.Changes{Diff: diffOf("a", "x"), Provenance: tt.changes},
		}
		a, _ := artifactsAt(t, sandbox)
		tt.change(a)
		list, err := a.Collect(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range filesOf(list) {
			got = append(got, f.Path+"="+f.Provenance)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package harvest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The list of a sandbox must not be trusted.
func TestListedPathsAreMadePlain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", toolapi.MaxArtifactPath)
	listed := toolapi.Artifacts{Omitted: -5}
	for _, p := range []string{
		"z", "artifacts/a", "artifacts/a", "../x", "/etc/passwd", "a/../b", "a//b", "a/", "", ".", "..", "a\nb", "a\x1b[2Jb", "a\u202eb", long, long + "a", "漢字/é", "cafe\u0301", "\u212b", "a\uFFFDb",
	} {
		listed.Files = append(listed.Files, toolapi.ArtifactFile{Path: p, Size: -1})
	}
	files, omitted := (&Artifacts{Env: &runenv.Env{Known: &redacting.Secrets{}}}).plain(listed)
	var got []string
	for _, f := range files {
		got = append(got, f.Path[:min(len(f.Path), 20)]+":"+f.Problem)
	}
	want := []string{
		".:unreadable", "..:unreadable", "../x:unreadable", "/etc/passwd:unreadable", "a/:unreadable", "a/../b:unreadable", "a//b:unreadable",
		strings.Repeat("a", 20) + ":", "artifacts/a:", "a\uFFFD[2Jb:unreadable", "a\uFFFDb:unreadable", "cafe\uFFFD:unreadable", "z:", "漢字/é:", "\uFFFD:unreadable",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// The same path twice, an empty one, one that looks like another one, and one that is cut to the same as another.
	if omitted != 5 {
		t.Errorf("%d are omitted", omitted)
	}
}

func TestRoomForArtifacts(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		bucket bool
		sizes  []int64
		want   string
	}{
		"small":               {false, []int64{0, 1, mib}, "object object object"},
		"too large":           {false, []int64{mib + 1, 1 << 40, 1}, "TooLarge TooLarge object"},
		"the run's limit":     {false, []int64{mib, mib, mib, mib, mib - 1, 2, 1, 1, 0}, "object object object object object LimitReached object LimitReached object"},
		"large in the bucket": {true, []int64{mib + 1, 64 * mib, 64*mib + 1}, "bucket bucket TooLarge"},
		"small ones too":      {true, []int64{mib, mib, mib, mib, mib, mib}, "object object object object object bucket"},
		"the bucket's limit":  {true, []int64{64 * mib, 64 * mib, 64 * mib, 63 * mib, mib + 1, mib, mib, mib, mib, mib, mib, 1}, "bucket bucket bucket bucket LimitReached object object object object object bucket LimitReached"},
	} {
		r := &room{bucket: tt.bucket}
		var got []string
		for _, size := range tt.sizes {
			art := v1alpha1.Artifact{Path: "a", Size: size}
			switch {
			case size > r.most():
				got = append(got, string(r.tooLong(art).Skipped))
			case r.inObject(size):
				got, r.objects = append(got, "object"), r.objects+size
			case r.inBucket(size):
				got, r.blobs = append(got, "bucket"), r.blobs+size
			default:
				t.Errorf("%s: there is room for %d bytes, and nowhere to put them", name, size)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", name, s, tt.want)
		}
	}
}

// No file is stored that does not fit into the list of the result, and all stored files are in it.
func TestWhatIsKeptIsListed(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{}
	run.Name, run.Namespace, run.UID = "run", "ns", "uid"
	for name, path := range map[string]string{"short": "artifacts/%d", "long": "artifacts/" + strings.Repeat("a", 400) + "/%d", "escaped": "artifacts/" + strings.Repeat("<", 60) + "%d"} {
		room, list := &room{}, &v1alpha1.ArtifactList{}
		kept := 0
		for i := range toolapi.MaxArtifacts {
			art := v1alpha1.Artifact{
				Path: fmt.Sprintf(path, i), Size: 1, SHA256: strings.Repeat("0", 64), MediaType: "text/plain; charset=utf-8", Provenance: "Internal",
			}
			art.ConfigMapName = artifactName(run, &art)
			if room.lists(&art) {
				room.listed += fit.ListedBytes(&art)
				kept++
			} else {
				art = unlisted(art)
			}
			list.Files = append(list.Files, art)
		}
		shown, omitted := fit.ShowArtifacts(list)
		named := 0
		for i := range shown {
			if shown[i].ConfigMapName != "" {
				named++
			}
		}
		if named != kept || kept == 0 || kept == toolapi.MaxArtifacts || int(omitted)+len(shown) != toolapi.MaxArtifacts {
			t.Errorf("%s: %d are kept, %d of %d are named", name, kept, named, len(shown))
		}
	}
}

func TestArtifactNames(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{}
	run.Name, run.UID = strings.Repeat("r", 48), "uid-1"
	art := &v1alpha1.Artifact{Path: "a", SHA256: "1"}
	name := artifactName(run, art)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 || name != artifactName(run, &v1alpha1.Artifact{Path: "a", SHA256: "1", Size: 5}) {
		t.Errorf("%s: %v", name, problems)
	}
	other := run.DeepCopy()
	other.UID = "uid-2"
	for what, other := range map[string]string{
		"path": artifactName(run, &v1alpha1.Artifact{Path: "b", SHA256: "1"}), "content": artifactName(run, &v1alpha1.Artifact{Path: "a", SHA256: "2"}),
		"run": artifactName(other, art),
	} {
		if other == name {
			t.Errorf("another %s has the same name", what)
		}
	}
}

func TestCutMessage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"short": "short", "bad\xff": "bad\uFFFD", strings.Repeat("é", 200): strings.Repeat("é", 126) + "…",
	} {
		if got := cutMessage(in); got != want || len(got) > maxArtifactMessage {
			t.Errorf("%q", got)
		}
	}
}

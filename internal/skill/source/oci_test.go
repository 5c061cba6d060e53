// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	ocidigest "github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

// ociRegistry is a registry on the loopback interface.
type ociRegistry struct {
	t    *testing.T
	host string
	// inner holds the artifacts, behind the handler in front of it.
	inner http.Handler
}

// newRegistry starts a registry. before, if it is set, answers a request and returns true, or leaves it to the registry.
func newRegistry(t *testing.T, before func(http.ResponseWriter, *http.Request) bool) ociRegistry {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return ociRegistry{t: t, host: strings.TrimPrefix(server.URL, "http://"), inner: inner}
}

func (r ociRegistry) put(method, path, kind string, body []byte) {
	r.t.Helper()
	req := httptest.NewRequestWithContext(r.t.Context(), method, path, bytes.NewReader(body))
	req.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	if r.inner.ServeHTTP(w, req); w.Code != http.StatusCreated {
		r.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// blob stores a layer.
func (r ociRegistry) blob(kind, title string, data []byte) ocispec.Descriptor {
	r.put(http.MethodPost, "/v2/team/skill/blobs/uploads/?digest="+digest(data), "application/octet-stream", data)
	d := ocispec.Descriptor{MediaType: kind, Digest: ocidigest.Digest(digest(data)), Size: int64(len(data))}
	if title != "" {
		d.Annotations = map[string]string{ocispec.AnnotationTitle: title}
	}
	return d
}

// tag stores the content of a tag, and returns its digest.
func (r ociRegistry) tag(tag, kind string, what any) ocispec.Descriptor {
	r.t.Helper()
	data, err := json.Marshal(what)
	if err != nil {
		r.t.Fatal(err)
	}
	r.put(http.MethodPut, "/v2/team/skill/manifests/"+tag, kind, data)
	return ocispec.Descriptor{MediaType: kind, Digest: ocidigest.Digest(digest(data)), Size: int64(len(data))}
}

// artifact tags layers.
func (r ociRegistry) artifact(tag string, layers ...ocispec.Descriptor) ocispec.Descriptor {
	return r.tag(tag, ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: r.blob(ocispec.MediaTypeEmptyJSON, "", []byte("{}")), Layers: layers,
	})
}

func (r ociRegistry) read(reference string) (skillsource.Read, error) {
	return (&skillsource.Reader{}).Read(r.t.Context(), "ns", &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: r.host + "/team/skill" + reference}})
}

const (
	plainTar = "application/vnd.oci.image.layer.v1.tar"
	zipTar   = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

func TestArtifacts(t *testing.T) {
	t.Parallel()
	want := map[string]string{"SKILL.md": manifest, "scripts/send.sh": "x send"}
	entries := []entry{
		{content: "a commit", kind: tar.TypeXGlobalHeader}, {name: "./", kind: tar.TypeDir, mode: 0o755},
		{name: "./SKILL.md", content: manifest, mode: 0o644}, {name: "scripts/", kind: tar.TypeDir}, {name: "scripts/send.sh", content: "send", mode: 0o755},
	}
	inFolder := []entry{{name: "weather/SKILL.md", content: manifest}, {name: "weather/scripts/send.sh", content: "send", mode: 0o700}}
	scripts := []entry{{name: "scripts/", kind: tar.TypeDir}, {name: "scripts/send.sh", content: "send", mode: 0o711}}
	tests := map[string]func(r ociRegistry) []ocispec.Descriptor{
		"an archive": func(r ociRegistry) []ocispec.Descriptor {
			return []ocispec.Descriptor{r.blob(plainTar, "", packed(t, entries...))}
		},
		"a compressed one": func(r ociRegistry) []ocispec.Descriptor {
			return []ocispec.Descriptor{r.blob(zipTar, "", zipped(t, packed(t, entries...)))}
		},
		"an archive with a name": func(r ociRegistry) []ocispec.Descriptor {
			return []ocispec.Descriptor{r.blob(plainTar, "skill.tgz", zipped(t, packed(t, entries...)))}
		},
		"a folder in an archive": func(r ociRegistry) []ocispec.Descriptor {
			return []ocispec.Descriptor{r.blob(zipTar, "", zipped(t, packed(t, inFolder...)))}
		},
		"files, and a folder": func(r ociRegistry) []ocispec.Descriptor {
			folder := r.blob(zipTar, "scripts", zipped(t, packed(t, scripts...)))
			folder.Annotations["io.deis.oras.content.unpack"] = "true"
			return []ocispec.Descriptor{r.blob(plainTar, "SKILL.md", []byte(manifest)), folder}
		},
	}
	for name, layers := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegistry(t, nil)
			d := r.artifact("v1", layers(r)...)
			for _, reference := range []string{":v1", "@" + d.Digest.String(), ":other@" + d.Digest.String()} {
				got, err := r.read(reference)
				if err != nil {
					t.Fatal(err)
				}
				wantFiles(t, got.Files, want)
				if got.Origin != d.Digest.String() {
					t.Errorf("origin %s", got.Origin)
				}
			}
		})
	}
	t.Run("one file", func(t *testing.T) {
		t.Parallel()
		r := newRegistry(t, nil)
		r.artifact("v1", r.blob(plainTar, "SKILL.md", []byte(manifest)))
		got, err := r.read(":v1")
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, got.Files, map[string]string{"SKILL.md": manifest})
	})
}

func TestAMovedTag(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, nil)
	first := r.artifact("v1", r.blob(plainTar, "SKILL.md", []byte(manifest)))
	second := r.artifact("v1", r.blob(plainTar, "SKILL.md", []byte(manifest+"More.\n")))
	for reference, want := range map[string]string{":v1": second.Digest.String(), "@" + first.Digest.String(): first.Digest.String()} {
		if got, err := r.read(reference); err != nil || got.Origin != want {
			t.Errorf("%s: %s, %v, want %s", reference, got.Origin, err, want)
		}
	}
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, nil)
	a := r.artifact("a", r.blob(plainTar, "SKILL.md", []byte(manifest)))
	b := r.artifact("b", r.blob(plainTar, "SKILL.md", []byte("other")))
	one := r.tag("one", ocispec.MediaTypeImageIndex, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{a}})
	r.tag("two", ocispec.MediaTypeImageIndex, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{a, b}})
	got, err := r.read(":one")
	if err != nil || got.Origin != one.Digest.String() {
		t.Fatalf("an index of one: %v, %v", got, err)
	}
	wantFiles(t, got.Files, map[string]string{"SKILL.md": manifest})
	_, err = r.read(":two")
	problem(t, err, v1alpha1.ReasonSkillInvalid, "an index of 2 manifests")
}

func TestArtifactsThatAreNoSkills(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, nil)
	file := r.blob(plainTar, "SKILL.md", []byte(manifest))
	untitled := r.blob(plainTar, "", []byte("something"))
	huge := file
	huge.Size = skill.MaxTotalBytes + 2<<20
	negative := file
	negative.Size = -1
	absent := ocispec.Descriptor{MediaType: plainTar, Digest: ocidigest.FromString("absent"), Size: 6, Annotations: file.Annotations}
	notDigest := file
	notDigest.Digest = "sha256:../../../secrets"
	bomb := r.blob(zipTar, "", zipped(t, packed(t, entry{name: "assets/zeros", content: strings.Repeat("\x00", 65<<20)})))
	r.artifact("none")
	r.artifact("untitled", file, untitled)
	r.artifact("huge", huge)
	r.artifact("negative", negative)
	r.artifact("absent", absent)
	r.artifact("digest", notDigest)
	r.artifact("twice", file, file)
	r.artifact("text", untitled)
	r.artifact("bomb", bomb)
	r.artifact("zstd", r.blob("application/vnd.oci.image.layer.v1.tar+zstd", "", []byte("\x28\xb5\x2f\xfd....")))
	r.tag("docker1", "application/vnd.docker.distribution.manifest.v1+json", map[string]string{"pad": "x"})
	r.tag("long", ocispec.MediaTypeImageManifest, map[string]string{"pad": strings.Repeat("x", 1<<20)})
	for reference, want := range map[string][2]string{
		":none":                               {v1alpha1.ReasonSkillInvalid, "has no layers"},
		":untitled":                           {v1alpha1.ReasonSkillInvalid, "Layer 2 of the artifact"},
		":huge":                               {v1alpha1.ReasonSkillTooLarge, "more than 11 MiB"},
		":negative":                           {v1alpha1.ReasonSkillTooLarge, "more than 11 MiB"},
		":absent":                             {v1alpha1.ReasonSourceNotFound, "not all of it"},
		":digest":                             {v1alpha1.ReasonSkillInvalid, "which is no digest"},
		":twice":                              {v1alpha1.ReasonSkillInvalid, `"SKILL.md" is there twice`},
		":text":                               {v1alpha1.ReasonSkillInvalid, "cannot be read"},
		":bomb":                               {v1alpha1.ReasonSkillTooLarge, "more than 64 MiB"},
		":zstd":                               {v1alpha1.ReasonSkillInvalid, "zstd"},
		":docker1":                            {v1alpha1.ReasonSkillInvalid, "no manifest of an artifact"},
		":long":                               {v1alpha1.ReasonSkillTooLarge, "more than 1 MiB"},
		":missing":                            {v1alpha1.ReasonSourceNotFound, "There is no artifact"},
		"@sha256:" + strings.Repeat("0", 64):  {v1alpha1.ReasonSourceNotFound, "There is no artifact"},
		"":                                    {v1alpha1.ReasonSourceNotFound, "is not REGISTRY/REPOSITORY"},
		"@sha512:" + strings.Repeat("0", 128): {v1alpha1.ReasonSourceNotFound, "is not REGISTRY/REPOSITORY"},
		":a b":                                {v1alpha1.ReasonSourceNotFound, "is not REGISTRY/REPOSITORY"},
	} {
		t.Run(reference, func(t *testing.T) {
			t.Parallel()
			_, err := r.read(reference)
			problem(t, err, want[0], want[1])
		})
	}
}

// A registry sends other bytes than those of the digest.
func TestBytesThatAreNotOfTheDigest(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]string{"layer": "/blobs/", "manifest": "/manifests/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r ociRegistry
			r = newRegistry(t, func(w http.ResponseWriter, req *http.Request) bool {
				if !strings.Contains(req.URL.Path, what) {
					return false
				}
				rec := httptest.NewRecorder()
				r.inner.ServeHTTP(rec, req)
				w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
				w.Header().Set("Docker-Content-Digest", rec.Header().Get("Docker-Content-Digest"))
				body := rec.Body.Bytes()
				if len(body) > 0 {
					body[len(body)-1] ^= 1
				}
				w.Write(body)
				return true
			})
			r.artifact("v1", r.blob(plainTar, "SKILL.md", []byte(manifest)))
			_, err := r.read(":v1")
			if p := problem(t, err, v1alpha1.ReasonSourceUnavailable, "other bytes than the digest"); !p.Transient {
				t.Error("it is not tried again")
			}
		})
	}
}

func pullSecret(name, host, user, password string) *corev1.Secret {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"` + host + `":{"auth":"` + auth + `"}}}`)},
	}
}

func TestPrivateRegistry(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, func(w http.ResponseWriter, req *http.Request) bool {
		if user, password, _ := req.BasicAuth(); user == "robot" && password == "hunter2" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	r.artifact("v1", r.blob(plainTar, "SKILL.md", []byte(manifest)))
	live := cluster(t, pullSecret("right", r.host, "robot", "hunter2"), pullSecret("address", "https://"+r.host+"/v2/", "robot", "hunter2"),
		pullSecret("wrong", r.host, "robot", "hunter22"), pullSecret("other", "registry.example.org", "robot", "hunter2"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "opaque"}, Data: map[string][]byte{"password": []byte("hunter2")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"h":{"auth":"hunter2"}}}`)}})
	for secret, want := range map[string][2]string{
		"":        {v1alpha1.ReasonSourceUnavailable, "name a Secret in pullSecretName"},
		"right":   {},
		"address": {},
		"wrong":   {v1alpha1.ReasonSourceUnavailable, "does not let the Secret wrong read team/skill"},
		"other":   {v1alpha1.ReasonSourceUnavailable, "The Secret other has nothing for the registry"},
		"opaque":  {v1alpha1.ReasonSourceUnavailable, "is not of type kubernetes.io/dockerconfigjson"},
		"broken":  {v1alpha1.ReasonSourceUnavailable, "has no configuration for registries that can be read"},
		"missing": {v1alpha1.ReasonSourceUnavailable, "There is no Secret missing"},
	} {
		t.Run("secret "+secret, func(t *testing.T) {
			t.Parallel()
			got, err := (&skillsource.Reader{Live: live}).Read(t.Context(), "ns",
				&v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: r.host + "/team/skill:v1", PullSecretName: secret}})
			if want[0] != "" {
				if p := problem(t, err, want[0], want[1]); !p.Transient {
					t.Error("it is not tried again, and nobody sees when the Secret changes")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, got.Files, map[string]string{"SKILL.md": manifest})
		})
	}
}

// The target of a registry's redirect receives neither the password nor, without TLS, a request.
func TestRedirects(t *testing.T) {
	t.Parallel()
	data := []byte(manifest)
	var mu sync.Mutex
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, req.Header.Get("Authorization"))
		w.Write(data)
	}))
	defer other.Close()
	var to atomic.Pointer[string]
	to.Store(&other.URL)
	r := newRegistry(t, func(w http.ResponseWriter, req *http.Request) bool {
		if user, _, _ := req.BasicAuth(); user == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		if strings.Contains(req.URL.Path, "/blobs/") {
			http.Redirect(w, req, *to.Load()+"/blob?signature=1234", http.StatusTemporaryRedirect)
			return true
		}
		return false
	})
	r.artifact("v1", r.blob(plainTar, "SKILL.md", data))
	reader := &skillsource.Reader{Live: cluster(t, pullSecret("pull", r.host, "robot", "hunter2"))}
	source := &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: r.host + "/team/skill:v1", PullSecretName: "pull"}}
	if _, err := reader.Read(t.Context(), "ns", source); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 1 || seen[0] != "" {
		t.Errorf("the other host is given %q", seen)
	}
	to.Store(new("http://192.0.2.1"))
	_, err := reader.Read(t.Context(), "ns", source)
	problem(t, err, v1alpha1.ReasonSourceUnavailable, "without TLS")
}

func TestRegistriesThatCannotBeReached(t *testing.T) {
	t.Parallel()
	fails := newRegistry(t, func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "hunter2", http.StatusInternalServerError)
		return true
	})
	_, err := fails.read(":v1")
	if p := problem(t, err, v1alpha1.ReasonSourceUnavailable, "answers with the status 500"); !p.Transient {
		t.Error("it is not tried again")
	}
	// A registry that is none of the cluster's is asked with TLS only.
	reader := &skillsource.Reader{HTTP: &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
		if req.URL.Scheme != "https" {
			t.Errorf("a request to %s", req.URL)
		}
		return nil, errors.New("no such host at http://user:hunter2@registry/?signature=1")
	})}}
	_, err = reader.Read(t.Context(), "ns", &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: "registry.example.org/team/skill:v1"}})
	problem(t, err, v1alpha1.ReasonSourceUnavailable, "registry.example.org cannot be reached, or does not answer as it should")
	closed := httptest.NewServer(nil)
	closed.Close()
	host := strings.TrimPrefix(closed.URL, "http://")
	_, err = (&skillsource.Reader{}).Read(t.Context(), "ns", &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: host + "/team/skill:v1"}})
	problem(t, err, v1alpha1.ReasonSourceUnavailable, "The registry "+host+" cannot be reached, or does not answer as it should. The manager's log says more.")
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// SPDX-License-Identifier: Apache-2.0

package portfolio

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/modelserver/script"
)

const samples = "../../config/samples"

func sample(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(samples, path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A field that is misspelt in a sample would be dropped by some clients and refused by others.
func TestSamplesDecodeStrictly(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	objects := 0
	err := filepath.WalkDir(samples, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			// Flux and Argo CD have kinds of their own.
			if entry != nil && slices.Contains([]string{"scripts", "flux", "argocd"}, entry.Name()) {
				return fs.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".yaml" || entry.Name() == "kustomization.yaml" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(content)))
		defer documents.Close()
		for {
			document := make([]byte, len(content)+1)
			n, err := documents.Read(document)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if _, _, err := decoder.Decode(document[:n], nil, nil); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			objects++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if objects < 7 {
		t.Errorf("found only %d objects in the samples", objects)
	}
}

func TestScriptsLoad(t *testing.T) {
	scripts, err := script.LoadFS(os.DirFS(filepath.Join(samples, "modelserver/scripts")))
	if err != nil {
		t.Fatal(err)
	}
	kustomization := string(sample(t, "modelserver/kustomization.yaml"))
	for name := range scripts {
		if !strings.Contains(kustomization, "scripts/"+name+".yaml") {
			t.Errorf("the kustomization does not deploy the script %s", name)
		}
	}
}

// The data has to be as awkward as real data is, and no position so near to the tolerance that rounding decides.
func TestData(t *testing.T) {
	csv, strategy := sample(t, "portfolio/portfolio.csv"), sample(t, "portfolio/strategy.md")
	rows, err := readPositions(csv)
	if err != nil {
		t.Fatal(err)
	}
	var missing, commas int
	currencies := map[string]int{}
	for _, r := range rows {
		currencies[r["currency"]]++
		if r["price"] == "" {
			missing++
		}
		if strings.Contains(r["name"], ",") {
			commas++
		}
	}
	if len(rows) < 40 || missing != 1 || commas < 10 || currencies["EUR"] < 10 || currencies["USD"] < 10 || len(currencies) != 2 {
		t.Errorf("%d rows, %d without price, %d with commas, currencies %v", len(rows), missing, commas, currencies)
	}
	plan, err := readStrategy(strategy)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, target := range plan.targets {
		sum += target
	}
	if math.Abs(sum-100) > 1e-9 {
		t.Errorf("the targets add up to %v", sum)
	}
	for _, answer := range []string{"skip it", "use the last known price", "12.50"} {
		c, err := Compare(csv, strategy, answer)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Positions {
			if margin := math.Abs(p.Target - p.Weight - plan.tolerance); margin < 0.01 {
				t.Errorf("%s: %s is only %.4f points away from the tolerance", answer, p.Symbol, margin)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/ociimage"
)

// criNamespace is where the kubelet's runtime looks for images.
const criNamespace = "k8s.io"

// image is an archive with what is in it.
type image struct{ Reference, Digest, Archive string }

// pauseImage returns the image that holds Pods together and that the self-check runs; it is made
// when the programs are newly built.
func (c *Cluster) pauseImage() (image, error) {
	archive := filepath.Join(c.programs.Dir, "pause.tar")
	if _, err := os.Stat(archive); errors.Is(err, fs.ErrNotExist) {
		layer, err := ociimage.Layer(ociimage.Entry{Path: "/pause", Mode: 0o755, From: c.program("pause")})
		if err != nil {
			return image{}, err
		}
		img, err := ociimage.New(v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}, layer)
		if err != nil {
			return image{}, err
		}
		reference, err := ociimage.Reference("devcluster-pause", img)
		if err != nil {
			return image{}, err
		}
		if err := ociimage.WriteArchive(archive, reference, img); err != nil {
			return image{}, err
		}
	}
	return readImage(archive)
}

func readImage(archive string) (image, error) {
	reference, digest, err := ociimage.ReadName(archive)
	return image{Reference: reference, Digest: digest, Archive: archive}, err
}

// Load imports images from OCI archives, except those that are there already.
func (c *Cluster) Load(ctx context.Context, archives ...string) error {
	if err := needRoot(); err != nil {
		return err
	}
	if _, alive := c.running(containerdName); !alive {
		return errors.New("containerd does not run; start the cluster with \"up\"")
	}
	for _, archive := range archives {
		img, err := readImage(archive)
		if err != nil {
			return err
		}
		if err := c.load(ctx, img); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) load(ctx context.Context, img image) error {
	var listed bytes.Buffer
	if err := c.ctr(ctx, &listed, "-n", criNamespace, "images", "ls", "name=="+img.Reference); err != nil {
		return err
	}
	if strings.Contains(listed.String(), img.Digest) {
		c.out.Printf("image %s is there", img.Reference)
		return nil
	}
	return c.out.During("loading image "+img.Reference, func() error {
		return c.ctr(ctx, nil, "-n", criNamespace, "images", "import", "--digests=false", img.Archive)
	})
}

// ctr runs containerd's own client.
func (c *Cluster) ctr(ctx context.Context, output io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, c.program("ctr"), append([]string{"--address", c.containerdSocket()}, args...)...)
	var problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = output, &problems
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return nil
}

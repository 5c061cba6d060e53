// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/ociimage"
)

// accounts are the users that programs look up by number. Without an entry for its own user, Go's
// os/user and Git for example fail.
const accounts = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"

// staticImage holds one program at a path, the certificate authorities that it trusts, and nothing else.
func staticImage(path, program, trust string) (v1.Image, error) {
	layer, err := ociimage.Layer(
		ociimage.Entry{Path: path, Mode: 0o755, From: program},
		ociimage.Entry{Path: "/etc/passwd", Mode: 0o644, Content: []byte(accounts)},
		ociimage.Entry{Path: "/etc/group", Mode: 0o644, Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		ociimage.Entry{Path: "/etc/ssl/certs/ca-certificates.crt", Mode: 0o644, From: trust},
		ociimage.Entry{Path: "/home/nonroot/", Mode: 0o700, Owner: ociimage.Nonroot},
		ociimage.Entry{Path: "/tmp/", Mode: 0o1777},
	)
	if err != nil {
		return nil, err
	}
	return ociimage.New(v1.Config{
		Entrypoint: []string{path}, User: user(), WorkingDir: "/",
		Env: []string{"PATH=/", "HOME=/home/nonroot", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
	}, layer)
}

// user is numeric: the kubelet can tell only from a number that it is not root.
func user() string { return fmt.Sprintf("%d:%d", ociimage.Nonroot, ociimage.Nonroot) }

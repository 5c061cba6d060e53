// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// forgetContainers removes the containers of an ended cluster from containerd's store, which is kept
// for its images. Otherwise the next cluster's kubelet would find them, know none of them, and spend
// its first minute taking them apart. Their snapshots belong to nothing then, and containerd deletes
// them when it starts.
//
// This is done to the file because containerd cannot be asked: it may have been killed, or may be
// the one that is broken.
func forgetContainers(root string) error {
	database := filepath.Join(root, "io.containerd.metadata.v1.bolt", "meta.db")
	if _, err := os.Stat(database); err != nil {
		return os.RemoveAll(root) // never got as far as having a store, so it has no images either
	}
	db, err := bolt.Open(database, 0o600, &bolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		return fmt.Errorf("open containerd's store: %w", err)
	}
	if err := db.Update(dropContainers); err != nil {
		return errors.Join(fmt.Errorf("clean containerd's store: %w", err), db.Close())
	}
	if err := db.Close(); err != nil {
		return err
	}
	for _, dir := range []string{
		"io.containerd.grpc.v1.cri", "io.containerd.runtime.v2.task", "io.containerd.sandbox.controller.v1.shim",
	} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	return nil
}

// dropContainers deletes the buckets v1/<namespace>/{containers,sandboxes,leases}.
func dropContainers(tx *bolt.Tx) error {
	version := tx.Bucket([]byte("v1"))
	if version == nil {
		return nil
	}
	return version.ForEachBucket(func(namespace []byte) error {
		for _, kind := range []string{"containers", "sandboxes", "leases"} {
			err := version.Bucket(namespace).DeleteBucket([]byte(kind))
			if err != nil && !errors.Is(err, bolterrors.ErrBucketNotFound) {
				return err
			}
		}
		return nil
	})
}

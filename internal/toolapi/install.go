// SPDX-License-Identifier: Apache-2.0

package toolapi

const (
	// InstallArchive is the path in the workspace of the packages that a call of ToolInstall installed, a tar archive compressed with
	// gzip. It is read as an artifact.
	InstallArchive = ArtifactDir + "/packages.tar.gz"

	// MaxPackedBytes is the maximum size of such an archive, MaxUnpackedBytes that of its files together, and
	// MaxPackageEntries its maximum number of entries.
	MaxPackedBytes    = 20 << 20
	MaxUnpackedBytes  = 400 << 20
	MaxPackageEntries = 50_000
)

// Folders of the archive. It contains those whose kind of package was installed.
const (
	PackagesNPM = "node_modules"
	PackagesPip = "python"
	PackagesApt = "root"
)

// InstallArgs are the arguments of a call of ToolInstall: packages with their versions, and their sources. A kind without
// packages needs no source.
type InstallArgs struct {
	NPM []string `json:"npm,omitempty"`
	Pip []string `json:"pip,omitempty"`
	Apt []string `json:"apt,omitempty"`
	// NPMRegistry and PipIndex are addresses, AptSource is a line of sources.list without its type and options.
	NPMRegistry string `json:"npmRegistry,omitempty"`
	PipIndex    string `json:"pipIndex,omitempty"`
	AptSource   string `json:"aptSource,omitempty"`
	// AptKeyring has the armored public keys that AptSource is signed with; "" means those of the image.
	AptKeyring string `json:"aptKeyring,omitempty"`
	// CABundle has certificates of authorities, in PEM, beside those of the image.
	CABundle string `json:"caBundle,omitempty"`
}

// InstallResult is the Output, as JSON, of a call of ToolInstall that succeeded.
type InstallResult struct {
	// SHA256 of InstallArchive in hexadecimal digits, and how many bytes it has.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Packages are the installed packages, including dependencies, as in "npm left-pad@1.3.0". There can be more.
	Packages []string `json:"packages,omitempty"`
}

// Installed replaces an InstallResult in the engine's record when the engine has stored the archive.
type Installed struct {
	ConfigMaps []string `json:"configMaps"`
	SHA256     string   `json:"sha256"`
	Size       int64    `json:"size"`
	Packages   []string `json:"packages,omitempty"`
}

// MaxInstalledBytes is the maximum size of an Installed as JSON.
const MaxInstalledBytes = 16 << 10

// Codes of the Result of a call of ToolInstall.
const (
	// CodeInstallFailed: npm, pip or apt could not install the packages. The output says why.
	CodeInstallFailed = "install_failed"
	// CodeInstallTooLarge: the packages are larger than may be stored.
	CodeInstallTooLarge = "install_too_large"
)

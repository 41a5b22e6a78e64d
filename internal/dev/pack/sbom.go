package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"
)

// bill is a bill of materials in the form of CycloneDX 1.6, as far as a build info fills it.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string     `json:"timestamp"`
	Component component  `json:"component"`
	Settings  []property `json:"properties"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// printBill prints what a binary is made of, as it says itself.
func printBill(out io.Writer, binary, version string, at time.Time) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	b, err := billOf(info, version, at)
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

// billOf makes the bill from a build info. The hash of a module is that of go.sum, which
// is one of its files' names and hashes, in hexadecimal.
func billOf(info *debug.BuildInfo, version string, at time.Time) (bill, error) {
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		Timestamp: at.Format(time.RFC3339),
		Component: component{Type: "application", Ref: info.Path, Name: "fika", Version: version},
	}}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			b.Metadata.Settings = append(b.Metadata.Settings, property{"go:" + s.Key, s.Value})
		}
	}
	go1 := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = append(b.Components, module("std", go1))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module(m.Path, m.Version)
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil || len(sum) != 32 {
			return b, fmt.Errorf("the sum of %s is %q", m.Path, m.Sum)
		}
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
		b.Components = append(b.Components, c)
	}
	return b, nil
}

// module returns the component of a Go module.
func module(path, version string) component {
	url := "pkg:golang/" + path + "@" + version
	return component{Type: "library", Ref: url, Name: path, Version: version, URL: url}
}

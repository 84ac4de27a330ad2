package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

// version is set by the linker in releases; see buildVersion.
var version = ""

// buildVersion is the release, or what the Go toolchain knows of the build.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: a.action(0, 0, func(context.Context, *cli.Command, *session) error {
			_, err := fmt.Fprintf(a.stdout, "balsa %s %s %s/%s\n", buildVersion(), runtime.Version(),
				runtime.GOOS, runtime.GOARCH)
			return err
		}),
	}
}

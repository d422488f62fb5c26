package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Exit statuses. The help text repeats them.
const (
	exitOK      = 0
	exitFailure = 1 // the start failed, or the interpreter ended by itself
	exitUsage   = 2 // unknown command or flag
)

const longHelp = `ipython-mcp is an MCP server over stdio: one process, one CPython, one live IPython namespace.

An MCP client starts it. Register it with

  codex mcp add ipython -- ipython-mcp
  claude mcp add ipython -- ipython-mcp

or, where it is not on PATH, with its absolute path. Every flag mirrors the environment variable in brackets; a flag wins.

Exit status: 0 after the client closed stdin or a signal ended the server, 1 when the start failed or the interpreter ended by itself, 2 for
wrong usage.`

// version is set at link time for releases; otherwise the module's version from the build information stands in.
var version string

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

// run is the program: it returns the exit status. It must be called on the main goroutine.
func run(args []string) int {
	status := exitOK // of --help and --version
	root := &cobra.Command{
		Use:               "ipython-mcp",
		Short:             "One live IPython namespace for MCP clients, over stdio",
		Long:              longHelp,
		Version:           buildVersion(),
		Args:              cobra.NoArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	serveCommand := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over stdin and stdout (what happens without a command)",
		Args:  cobra.NoArgs,
	}
	for _, command := range []*cobra.Command{root, serveCommand} {
		addFlags(command.Flags())
		command.RunE = func(c *cobra.Command, _ []string) error {
			status = serve(lookupIn(c.Flags()))
			return nil
		}
	}
	prepareCommand := &cobra.Command{
		Use:   "prepare",
		Short: "Extract and provision ahead of time what a start with the same variables or flags needs",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			status = runPrepare(lookupIn(c.Flags()))
			return nil
		},
	}
	var asJSON bool
	doctorCommand := &cobra.Command{
		Use:   "doctor",
		Short: "Say what a start would use and why, and whether it would work (exit status 0 or 1)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			status = runDoctor(lookupIn(c.Flags()), c.Flags().Changed, asJSON)
			return nil
		},
	}
	doctorCommand.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	addFlags(prepareCommand.Flags())
	addFlags(doctorCommand.Flags())
	root.AddCommand(serveCommand, prepareCommand, doctorCommand)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "ipython-mcp: %v; see ipython-mcp --help\n", err)
		return exitUsage
	}
	return status
}

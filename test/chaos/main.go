package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"fika/internal/store/pgtest"
)

func main() {
	if err := chaos(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func chaos() error {
	o := options{keep: true}
	flag.StringVar(&o.bin, "fika", "bin/fika-chaos", "fika, built with -tags chaos")
	flag.StringVar(&o.engine, "engine", "sqlite", "where homes keep their database: sqlite, or postgres: a server of this run's own")
	flag.StringVar(&o.source, "source", ".", "the module, whose crash points are tried")
	flag.StringVar(&o.dir, "dir", "", "where homes are made; empty: in memory, but for faults of a disk")
	flag.IntVar(&o.seeds, "seeds", 20, "runs per crash point")
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flag.IntVar(&o.jobs, "jobs", 2, "runs at a time")
	flag.StringVar(&o.point, "point", "", "only crash points whose name begins so; none: no points")
	flag.StringVar(&o.scene, "scene", "", "only this scene")
	flag.StringVar(&o.fault, "fault", "", "only faults whose name begins so; none: no faults")
	flag.StringVar(&o.control, "control", "", "only this negative control; none: no controls")
	flag.DurationVar(&o.soak, "soak", 0, "instead: work for this long, with random kills and pauses")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if o.dir == "" {
		o.dir, o.disk = memory(), os.TempDir()
	}
	for _, path := range []*string{&o.bin, &o.dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if _, err := os.Stat(o.bin); err != nil {
		return fmt.Errorf("%w: go build -tags chaos -o %s ./cmd/fika", err, o.bin)
	}
	if stop, err := o.startServer(); err != nil {
		return err
	} else {
		defer stop()
	}
	began := time.Now()
	t, err := o.all(ctx)
	t.print(os.Stdout, time.Since(began))
	return err
}

// options are the options of the command.
type options struct {
	bin, source, dir             string
	disk                         string // where homes are made for faults of a disk; empty: in dir
	seeds, jobs                  int
	seed                         uint64
	point, scene, fault, control string
	soak                         time.Duration
	keep                         bool // homes of red runs
	engine                       string
	server                       *pgtest.Server // of all homes; nil: each has a file
}

// all runs the trials that the options name: by default everything but the soak.
func (o options) all(ctx context.Context) (*table, error) {
	t := &table{}
	if o.soak > 0 {
		if err := o.soakFor(ctx, t); err != nil {
			return t, err
		}
		return t, t.verdict()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.jobs)
	if wanted(o.point, o.fault, o.control) {
		if err := o.sweep(ctx, g, t); err != nil {
			return t, errors.Join(err, g.Wait())
		}
	}
	if wanted(o.fault, o.point, o.control) {
		o.strikeAll(ctx, g, t)
	}
	if wanted(o.control, o.point, o.fault) {
		o.deny(ctx, g, t)
	}
	if err := g.Wait(); err != nil {
		return t, err
	}
	return t, t.verdict()
}

// memory returns a folder that is kept in memory, if there is one. What a killed
// process has written there stays all the same, and on a disk most of a run's time is
// spent waiting for it.
func memory() string {
	const dir = "/dev/shm"
	probe, err := os.MkdirTemp(dir, "fika-chaos-")
	if err != nil {
		return os.TempDir()
	}
	_ = os.Remove(probe)
	return dir
}

// wanted reports whether one sort of trial is to be run: it is named, or none of the
// others is.
func wanted(this string, others ...string) bool {
	if this != "" {
		return this != "none"
	}
	for _, o := range others {
		if o != "" && o != "none" {
			return false
		}
	}
	return true
}

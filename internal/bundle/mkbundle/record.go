package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// trimRecords drops from every package's RECORD in the site at dir the files that are not there: what was
// pruned, and scripts, whose hashes depend on where the interpreter of this build lay.
func trimRecords(dir string) error {
	records, err := filepath.Glob(filepath.Join(dir, "*.dist-info", "RECORD"))
	if err != nil {
		return err
	}
	for _, record := range records {
		if err := trimRecord(dir, record); err != nil {
			return fmt.Errorf("trim %s: %w", record, err)
		}
	}
	return nil
}

func trimRecord(dir, record string) error {
	f, err := os.Open(record)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	var kept [][]string
	for _, row := range rows {
		inside, err := isInside(dir, row[0])
		if err != nil {
			return err
		}
		if inside {
			kept = append(kept, row)
		}
	}
	out, err := os.Create(record)
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	return errors.Join(w.WriteAll(kept), out.Close())
}

func isInside(dir, name string) (bool, error) {
	if !filepath.IsLocal(name) {
		return false, nil
	}
	_, err := os.Lstat(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

/**
 * Where the files for this platform are: beside the library where it was built from source, else in the package of the platform, which
 * npm chooses.
 *
 * @module
 */
/**
 * The path of a file for this platform; none where no package for it is installed.
 *
 * @param {string} file
 * @returns {string | undefined}
 */
export declare function platformFile(file: string): string | undefined;
